import * as fc from 'fast-check';
import { type ChatLines, type NoticeFields, chat } from './chat-lines.ts';

/** One thing that happens in a chat, as a step that writes its lines. */
export type Step = readonly [name: string, write: (lines: ChatLines) => unknown];

const task = fc.constantFrom<NoticeFields>(
  { task: 'b1', call: 'toolu_1' },
  { task: 'b2', call: 'toolu_2' },
  { task: 'b3', call: '' },
);
const status = fc.constantFrom('killed', 'stopped', 'completed', 'failed', 'timed out');
const notice = fc.tuple(task, status).map(([fields, word]): NoticeFields => ({ ...fields, status: word }));

const plain: Step[] = [
  ['human', (lines) => lines.human()],
  ['typed', (lines) => lines.human('Go on', { origin: { kind: 'human' }, promptSource: 'typed' })],
  ['nudge', (lines) => lines.nudge()],
  ['reply', (lines) => lines.reply()],
  ['call', (lines) => lines.call('t9')],
  ['result', (lines) => lines.result('t9')],
  ['turn', (lines) => lines.turn()],
  ['turn of another task', (lines) => lines.turn('b2', 'toolu_2')],
  ['launch', (lines) => lines.human().launch().reply()],
  ['dequeue', (lines) => lines.dequeue()],
  ['queued text', (lines) => lines.enqueue('Any news?')],
  ['thinking', (lines) => lines.assistant([{ type: 'thinking', thinking: 'hm' }], {}, { stop_reason: null })],
  ['placeholder', (lines) => lines.synthetic('No response requested.')],
  ['API error', (lines) => lines.apiError()],
  ['retry', (lines) => lines.retry()],
  ['interruption', (lines) => lines.interruption()],
  ['compaction', (lines) => lines.compaction()],
  ['command', (lines) => lines.user('<command-name>/cost</command-name>')],
  ['TaskStop', (lines) => lines.call('t8', 'TaskStop', { task_id: 'b1' }).result('t8').reply()],
];

const notices = notice.chain((fields) =>
  fc.constantFrom<Step>(
    [`enqueue ${JSON.stringify(fields)}`, (lines) => lines.kill(fields)],
    [`delivered ${JSON.stringify(fields)}`, (lines) => lines.delivered(fields)],
    [`folded ${JSON.stringify(fields)}`, (lines) => lines.folded(fields)],
  ),
);

/** Steps of a chat in any order, also in orders that no runtime would write. */
export const steps = fc.array(
  fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...plain) }, { weight: 2, arbitrary: notices }),
  {
    maxLength: 14,
  },
);

export const chatOf = (written: readonly Step[]): ChatLines => {
  const lines = chat();
  for (const [, write] of written) write(lines);
  return lines;
};

/** Lines that mean nothing to a verdict, whatever stands around them. */
export const inertLine: fc.Arbitrary<string> = fc.constantFrom(
  '{"type":"last-prompt","lastPrompt":"<task-notification><status>killed</status></task-notification>"}',
  '{"type":"cost-state","totalCostUSD":0.1}',
  '{"type":"some-future-type","x":{"y":[1]}}',
  '{"parentUuid":null,"isSidechain":false,"attachment":{"type":"date","date":"x"},"type":"attachment"}',
  '{"type":"system","subtype":"turn_duration","durationMs":1}',
  '{"type":"summary","summary":"x"}',
  '{"type":"user","isMeta":true,"message":{"content":"<system-reminder>x</system-reminder>"}}',
  '{"type":"assistant","isSidechain":true,"message":{"model":"m","content":[{"type":"text","text":"x"}]}}',
  'not json',
  '',
);
