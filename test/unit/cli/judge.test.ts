import { describe, expect, test } from 'vitest';
import { hopeless, isOver, judge } from '../../../cli/demo/judge.ts';

const label = 'Paddock recovery';
const line = (entry: object): string => `${JSON.stringify(entry)}\n`;
const user = (content: unknown): string => line({ type: 'user', message: { role: 'user', content } });
const assistant = (text: string, more: object = {}): string =>
  line({ type: 'assistant', message: { model: 'm', content: [{ type: 'text', text }], ...more } });
const task = (status: string): string =>
  line({
    type: 'queue-operation',
    operation: 'enqueue',
    content: `<task-notification>\n<status>${status}</status>\n</task-notification>`,
  });

const nudge = user(`[${label}] Please carry on.`);
const recovered = user('build') + assistant('started') + task('killed') + nudge + assistant('done');
const healthy = user('build') + assistant('started') + task('completed') + assistant('all green');
const wrong = (hung: string, other = healthy): string[] =>
  judge({ hung, healthy: other, label })
    .filter(({ ok }) => !ok)
    .map(({ what }) => what);

describe('the judge of the demo', () => {
  test('is content with one kill, one nudge, one reply, and a healthy chat that was left alone', () => {
    expect(wrong(recovered)).toEqual([]);
    expect(isOver({ hung: recovered, healthy, label })).toBe(true);
  });

  test('misses a nudge that never came, and its reply', () => {
    expect(wrong(user('build') + assistant('started') + task('killed'))).toEqual([
      'It was nudged exactly once.',
      'The nudge came after the kill.',
      'The chat answered the nudge.',
    ]);
  });

  test('minds a second nudge, and gives up hope', () => {
    expect(wrong(recovered + nudge)).toEqual(['It was nudged exactly once.']);
    expect(hopeless({ hung: recovered + nudge, healthy, label })).toBe(true);
  });

  test('minds a nudge into the healthy chat', () => {
    expect(wrong(recovered, healthy + nudge)).toEqual(['The healthy chat was left alone.']);
    expect(hopeless({ hung: recovered, healthy: healthy + nudge, label })).toBe(true);
  });

  test('minds a nudge before the kill', () => {
    expect(wrong(user('build') + nudge + task('killed') + assistant('done'))).toEqual([
      'The nudge came after the kill.',
    ]);
  });

  test('takes an API error for no reply', () => {
    const failed = user('build') + task('killed') + nudge + assistant('overloaded', { model: '<synthetic>' });
    expect(wrong(failed)).toEqual(['The chat answered the nudge.']);
  });

  test('knows a nudge in blocks, and behind the runtime’s line', () => {
    const behind = user([
      { type: 'text', text: `[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT]\n[${label}] Carry on.` },
    ]);
    expect(wrong(user('build') + task('killed') + behind + assistant('done'))).toEqual([]);
  });

  test('takes a quotation of the label for no nudge', () => {
    expect(wrong(recovered + user(`What does “[${label}]” mean?`))).toEqual([]);
  });

  test('reads on over a line that is being written', () => {
    expect(wrong(`${recovered}{"type":"assi`)).toEqual([]);
  });
});
