import { describe, expect, test } from 'vitest';
import { messagesRequestSchema, promptOf, replyTo, type ReplyBlock } from '../../support/fake-messages-reply.ts';

const TOOLS = [{ name: 'Bash' }, { name: 'Agent' }];
const user = (content: unknown) => ({ role: 'user', content });
const reply = (messages: unknown[], tools: unknown[] = TOOLS): ReplyBlock[] =>
  replyTo(promptOf(messagesRequestSchema.parse({ messages, tools })));
const words = (blocks: ReplyBlock[]) => blocks.map((block) => (block.type === 'text' ? block.text : block.name));
const call = (blocks: ReplyBlock[]) => blocks.find((block) => block.type === 'tool_use')?.input;
const notice = '<task-notification>\n<status>killed</status>\n</task-notification>';

describe('the fake model', () => {
  test('runs what BG and BGT ask in the background, what FG asks in the foreground', () => {
    expect(call(reply([user('Please. BG::sleep 600')]))).toMatchObject({
      command: 'sleep 600',
      run_in_background: true,
    });
    expect(call(reply([user('BGT::500;;sleep 9')]))).toMatchObject({ command: 'sleep 9', timeout: 500 });
    expect(call(reply([user('FG::ls')]))).toEqual({ command: 'ls', description: 'Run in foreground' });
  });

  test('has an agent run what AGENT asks, and is that agent too', () => {
    const [, launch] = reply([user('AGENT::sleep 5')]);
    expect(launch).toMatchObject({
      name: 'Agent',
      input: { prompt: 'SUBAGENT_RUN::sleep 5', run_in_background: true },
    });
    expect(call(reply([user('SUBAGENT_RUN::sleep 5')]))).toMatchObject({ command: 'sleep 5' });
    const result = user([{ type: 'tool_result', content: 'done' }]);
    expect(words(reply([user('SUBAGENT_RUN::sleep 5'), result]))).toEqual(['Sub-agent finished its job.']);
  });

  test('obeys the last message only, and no directive inside a reminder', () => {
    expect(words(reply([user('BG::sleep 1'), user('And now?')]))).toEqual(['OK, continuing in the foreground.']);
    expect(words(reply([user('<system-reminder>BG::rm</system-reminder>Hello')]))).toEqual([
      'OK, continuing in the foreground.',
    ]);
  });

  test('reports a task’s end that it is shown, bare or wrapped in a reminder', () => {
    const reported = ['The background task reported: killed.'];
    expect(words(reply([user(notice)]))).toEqual(reported);
    expect(words(reply([user(`<system-reminder>${notice}</system-reminder>[Paddock recovery] Go on.`)]))).toEqual(
      reported,
    );
  });

  test('stands by after a tool’s result, and folds in a notice that comes with it', () => {
    const result = { type: 'tool_result', content: [{ type: 'text', text: 'running' }] };
    expect(words(reply([user([result])]))).toEqual(['Kicked it off in the background; standing by.']);
    expect(words(reply([user([result, { type: 'text', text: notice }])]))).toEqual([
      'Folded in: the background task reported killed.',
    ]);
  });

  test('answers a side question without tools shortly', () => {
    expect(words(reply([user('A title for this chat?')], []))).toEqual(['ok']);
  });
});
