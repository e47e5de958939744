import { describe, expect, test } from 'vitest';
import { parseLine } from '#shared/transcript/line.js';
import { CONTEXT_BYTES, type Reducer, WIDE_CONTEXT_BYTES, createReducer } from '#shared/transcript/signature.js';
import type { ReadContext } from '#shared/transcript/finding.js';
import { type ChatLines, SESSION, chat, payload } from '../../support/chat-lines.ts';

/** Bytes between two entries: the n-th line of a chat stands at n times this. */
const STEP = 1_000;

type History = ReadContext['history'];

const reducerWith = (history: History = 'near'): Reducer => createReducer({ answeredTaskIds: new Set(), history });

/** Feeds a chat newest first and tells at which line (from 0) it was decided; -1: not before the file's start. */
const decidedAt = (lines: ChatLines): number => {
  const reducer = reducerWith();
  for (let n = lines.lines.length - 1; n >= 0; n -= 1) {
    feed(reducer, lines, n);
    if (reducer.decided) return n;
  }
  return -1;
};

const feed = (reducer: Reducer, lines: ChatLines, n: number): void => {
  const { entries } = parseLine(Buffer.from(lines.lines[n] ?? ''), n * STEP, { sessionId: SESSION, senderLabels: [] });
  for (const entry of entries.toReversed()) reducer.add(entry);
};

const fed = (lines: ChatLines, history?: History): Reducer => {
  const reducer = reducerWith(history);
  for (let n = lines.lines.length - 1; n >= 0; n -= 1) feed(reducer, lines, n);
  return reducer;
};

/** Three answered turns that nobody should need to read. */
const old = (): ChatLines => chat().human().reply().human().reply().human().reply();

describe('the entry at which a chat is decided', () => {
  test('a healthy chat: the prompt of its newest answered turn', () => {
    expect(decidedAt(old())).toBe(4);
    expect(decidedAt(old().human().call('t1').result('t1').reply())).toBe(6);
    expect(decidedAt(old().delivered({ status: 'completed' }).reply())).toBe(6);
    expect(decidedAt(old().delivered({ status: 'completed' }, { queueTranscriptOnly: true }).reply())).toBe(4);
  });

  test('an open turn: its newest entry', () => {
    expect(decidedAt(old().human())).toBe(6);
    expect(decidedAt(old().human().call('t1'))).toBe(7);
    expect(decidedAt(old().human().call('t1').result('t1'))).toBe(8);
    expect(decidedAt(old().turn().human().kill().folded())).toBe(12);
    expect(decidedAt(old().compaction())).toBe(6);
    expect(
      decidedAt(
        old()
          .human()
          .entry({ type: 'attachment', attachment: { type: 'queued_command', prompt: 'x' } }),
      ),
    ).toBe(7);
    expect(decidedAt(old().assistant([{ type: 'thinking' }], {}, { stop_reason: null }))).toBe(6);
  });

  test('text in the queue decides with the newest entry of a turn', () => {
    expect(decidedAt(old().enqueue('Any news?'))).toBe(5);
  });

  test('an interruption: not before it is known what it interrupted', () => {
    expect(decidedAt(old().human().interruption())).toBe(4);
  });

  test('a hang: the launch of each task', () => {
    expect(decidedAt(old().turn().kill())).toBe(6);
    expect(decidedAt(old().turn().human().reply().kill())).toBe(8);
    const two = old().turn().turn('b2', 'toolu_2').kill().kill({ task: 'b2', call: 'toolu_2' });
    expect(decidedAt(two)).toBe(8);
  });

  test('a launch is the call that the notice names, or the record of its task', () => {
    const byCall = old().human().call('toolu_1').result('toolu_1').reply().human().reply().kill();
    expect(decidedAt(byCall)).toBe(7);
    const byRecord = old().human().launch('b1', 'other').reply().human().reply().kill();
    expect(decidedAt(byRecord)).toBe(8);
    const start = JSON.stringify({ task_id: 'b1', tool_use_id: 'other' });
    expect(decidedAt(old().human().enqueue(start).call('other').reply().human().reply().kill())).toBe(7);
  });

  test('another task’s launch or notice is not the one', () => {
    const start = JSON.stringify({ task_id: 'b9', tool_use_id: 'other' });
    const lines = old().turn().human().enqueue(start).call('other').reply().human().reply().kill();
    expect(decidedAt(lines)).toBe(8);
    const noticed = old().turn().kill({ task: 'b9', call: 't9' }).human().reply().human().reply().kill();
    expect(decidedAt(noticed)).toBe(8);
  });

  test('a queued notice neither opens a turn nor begins one', () => {
    expect(decidedAt(old().human().call('t1').kill())).toBe(7);
    expect(decidedAt(old().human().kill({ status: 'completed' }).reply())).toBe(6);
  });

  test('words in a tool’s result are no launch', () => {
    const words = old()
      .human()
      .result('t1', {}, { content: 'running in background with ID: b1' })
      .reply()
      .human()
      .reply();
    expect(decidedAt(words.kill({ call: '' }))).toBe(-1);
  });

  test('a task that the chat stopped, or that was reported before, needs no launch', () => {
    const stopped = chat().turn().call('t8', 'TaskStop', { task_id: 'b1' }).result('t8').reply().human().reply().kill();
    expect(decidedAt(stopped)).toBe(4);
    const reported = chat().turn().kill().human().reply().human().reply().kill({ status: 'stopped' });
    expect(decidedAt(reported)).toBe(4);
  });

  test('an error is a candidate, too', () => {
    expect(decidedAt(old().turn().human().reply().kill().nudge().apiError())).toBe(8);
  });

  test('a kill without a launch anywhere is decided by the file’s start', () => {
    const reducer = fed(old().kill());
    expect(reducer.decided).toBe(false);
    reducer.atStart();
    expect(reducer.decided).toBe(true);
    expect(reducer.finding()).toMatchObject({ kind: 'pending', historyComplete: true });
  });
});

const at = (line: number): number => line * STEP;

describe('how far a reader goes on', () => {
  test('never before it is decided', () => {
    expect(fed(chat().kill()).isEnough(-1_000_000)).toBe(false);
  });

  test('not behind the newest answered human prompt', () => {
    const reducer = fed(chat().human().reply());
    expect(reducer.isEnough(at(0))).toBe(false);
    expect(reducer.isEnough(at(0) - 1)).toBe(true);
  });

  test('at most 32 KB for the facts where that prompt is further away', () => {
    const lines = chat();
    for (let n = 0; n < 50; n += 1) lines.entry({ type: 'mode' });
    const nudged = fed(lines.nudge().reply());
    expect(nudged.isEnough(at(50) - CONTEXT_BYTES)).toBe(false);
    expect(nudged.isEnough(at(50) - CONTEXT_BYTES - 1)).toBe(true);
    expect(nudged.finding().historyComplete).toBe(false);
    expect(fed(lines, 'whole').isEnough(at(50) - CONTEXT_BYTES - 1)).toBe(false);
  });

  test('to the human prompt for a caller without history; further for a person who asks', () => {
    const lines = chat().human().reply().nudge().reply();
    expect(fed(lines, 'whole').isEnough(at(0) - 1)).toBe(true);
    expect(fed(lines, 'wide').isEnough(at(2) - WIDE_CONTEXT_BYTES)).toBe(false);
    expect(fed(lines, 'wide').isEnough(at(2) - WIDE_CONTEXT_BYTES - 1)).toBe(true);
    expect(fed(chat().nudge().reply(), 'wide').isEnough(-2 * WIDE_CONTEXT_BYTES)).toBe(false);
  });

  test('behind a busy verdict the story of its tasks is looked for within the 32 KB', () => {
    const lines = chat().turn().human('Done?').reply().kill().human();
    const reducer = reducerWith();
    for (let n = lines.lines.length - 1; n >= 4; n -= 1) feed(reducer, lines, n);
    expect(reducer.decided).toBe(true);
    expect(reducer.isEnough(at(3))).toBe(false);
    for (let n = 3; n >= 1; n -= 1) feed(reducer, lines, n);
    expect(reducer.isEnough(at(0))).toBe(true);
  });
});

const notesOf = (lines: ChatLines): string[] =>
  fed(lines)
    .finding()
    .evidence.map(({ note, offset }) => `${offset / STEP} ${note}`);

describe('the evidence', () => {
  test('of a task that was reported twice and delivered', () => {
    expect(
      notesOf(chat().turn().kill().kill({ status: 'stopped' }).dequeue().delivered({ status: 'stopped' })),
    ).toEqual([
      '0 prompt (human)',
      '1 launch of task b1',
      '3 newest real reply',
      '4 stopped notice of task b1',
      '7 stopped notice of task b1 again',
    ]);
  });

  test('of a wake that is tried again', () => {
    expect(notesOf(chat().turn().kill().dequeue().retry())).toEqual([
      '0 prompt (human)',
      '1 launch of task b1',
      '3 newest real reply',
      '4 killed notice of task b1',
      '5 delivered or dequeued: a wake may be under way',
      '6 the runtime tries its request again',
    ]);
  });

  test('of a user’s stop and of the chat’s own', () => {
    expect(notesOf(chat().human().launch().interruption().kill())).toEqual([
      '0 prompt (human)',
      '1 launch of task b1',
      '3 interruption marker',
      '4 killed notice of task b1, ended on purpose',
    ]);
    expect(notesOf(chat().turn().call('t8', 'TaskStop', { task_id: 'b1' }).result('t8').reply().kill())).toEqual([
      '0 prompt (human)',
      '1 launch of task b1',
      '4 the chat itself stopped task b1',
      '6 newest real reply',
      '7 killed notice of task b1, ended on purpose',
    ]);
  });

  test('of an answered chat, and of a task that is reported again', () => {
    expect(notesOf(chat().turn().kill().nudge().reply())).toEqual([
      '4 killed notice of task b1, answered',
      '5 prompt (nudge)',
      '6 newest real reply',
    ]);
    expect(notesOf(chat().turn().kill().nudge().reply().kill({ status: 'stopped' }))).toEqual([
      '4 killed notice of task b1, answered',
      '5 prompt (nudge)',
      '6 newest real reply',
      '7 task b1 reported again; it was answered before',
    ]);
  });

  test('of an error, a placeholder, an open turn, queued text and a completed task', () => {
    expect(notesOf(chat().turn().kill().nudge().apiError({ apiErrorStatus: 429 })).slice(2)).toEqual([
      '4 killed notice of task b1',
      '5 prompt (nudge)',
      '6 synthetic API error (usage-limit)',
    ]);
    expect(notesOf(chat().turn().kill().synthetic('x')).slice(3)).toEqual([
      '4 killed notice of task b1',
      '5 synthetic placeholder of a resume',
    ]);
    expect(notesOf(chat().human().call('t1'))).toEqual(['0 prompt (human)', '1 a turn is open here']);
    expect(notesOf(chat().human())).toEqual(['0 a person’s prompt without a reply']);
    expect(notesOf(chat().nudge())).toEqual(['0 our nudge without a reply']);
    expect(notesOf(chat().compaction())).toEqual(['0 automatic compaction']);
    expect(notesOf(chat().enqueue('x'))).toEqual(['0 text still in the queue']);
    expect(notesOf(chat().enqueue(payload({ status: 'completed' })))).toEqual(['0 completed notice of task b1']);
  });
});
