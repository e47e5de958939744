import * as fc from 'fast-check';
import { describe, test, expect } from 'vitest';
import type { Finding, Judgement } from '#shared/transcript/finding.js';
import type { Entry } from '#shared/transcript/entry.js';
import { parseLine } from '#shared/transcript/line.js';
import { createReducer, findingOf, judge } from '#shared/transcript/signature.js';
import { type Step, chatOf, inertLine, steps } from '../../support/chat-arbitrary.ts';
import {
  type ChatLines,
  OTHER_SESSION,
  SESSION,
  clocksAgo,
  findingIn,
  judged,
  outcomeOf,
} from '../../support/chat-lines.ts';

/** Everything of a judgement that must not change. */
const essence = ({ verdict, reason, tasks, noticeId }: Judgement): unknown => [
  verdict,
  reason,
  tasks.map(({ id }) => id),
  noticeId,
];
const bytesOf = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(''));
const CONTEXT = { sessionId: SESSION, senderLabels: [] };
const RUNS = { numRuns: 300 };

const entriesOf = (lines: ChatLines): Entry[] =>
  lines.lines.flatMap((line, index) => [...parseLine(Buffer.from(line), index * 100_000, CONTEXT).entries]);

/** The entries from the newest on until the verdict is certain, and not one more. */
const stoppedAtOnce = (entries: readonly Entry[]): Finding => {
  const reducer = createReducer({ answeredTaskIds: new Set() });
  for (const entry of entries.toReversed()) {
    reducer.add(entry);
    if (reducer.decided) break;
  }
  return reducer.finding();
};

/**
 * What a verdict makes people do: a hang or an error and its tasks, or nothing. Which of two reasons there is to leave a
 * chat alone may depend on text that was queued before the last answered prompt, which is not read.
 */
const actionOf = (finding: Finding): unknown => {
  const { verdict, noticeId } = judge(finding, clocksAgo(600_000));
  return verdict === 'hung' || verdict === 'error-entry' ? [verdict, noticeId] : 'none';
};

describe('whatever happened in the chat', () => {
  test('splitting the file into blocks anywhere gives the same finding', async () => {
    const property = fc.asyncProperty(
      steps,
      fc.integer({ min: 1, max: 700 }),
      fc.integer({ min: 1, max: 700 }),
      async (written, first, next) => {
        const lines = chatOf(written);
        const blocks = { firstBlockBytes: first, blockBytes: next };
        expect(await findingIn(lines, {}, blocks)).toEqual(await findingIn(lines));
      },
    );
    await fc.assert(property, RUNS);
  });

  test('stopping as soon as it is certain gives the verdict of the whole file', () => {
    const property = fc.property(steps, (written) => {
      const entries = entriesOf(chatOf(written));
      const [stopped, whole] = [stoppedAtOnce(entries), findingOf(entries)].map((each) => actionOf(each));
      expect(stopped).toEqual(whole);
    });
    fc.assert(property, { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 2_000) });
  });

  test('inert lines anywhere change nothing', async () => {
    const places = fc.array(fc.tuple(fc.nat(), inertLine), { maxLength: 20 });
    const property = fc.asyncProperty(steps, places, async (written, inserted) => {
      const { lines } = chatOf(written);
      const more = [...lines];
      for (const [place, line] of inserted) more.splice(place % (more.length + 1), 0, line);
      expect(essence(await judged(bytesOf(more)))).toEqual(essence(await judged(bytesOf(lines))));
    });
    await fc.assert(property, RUNS);
  });

  test('a prompt and its real reply at the end always clear a hang', async () => {
    const property = fc.asyncProperty(steps, fc.boolean(), async (written, nudged) => {
      const lines = chatOf(written);
      const { verdict, tasks } = await judged((nudged ? lines.nudge() : lines.human()).reply());
      expect([verdict, tasks]).toEqual(['not-hung', []]);
    });
    await fc.assert(property, RUNS);
  });

  test('entries of another session never matter', async () => {
    const property = fc.asyncProperty(steps, steps, fc.infiniteStream(fc.boolean()), async (ours, theirs, turns) => {
      const own = chatOf(ours).lines;
      const foreign = chatOf(theirs).lines.map((line) => line.replaceAll(SESSION, OTHER_SESSION));
      const mixed: string[] = [];
      const rest = [...own];
      for (const line of foreign) {
        while (rest.length > 0 && turns.next().value === true) mixed.push(rest.shift() ?? '');
        mixed.push(line);
      }
      expect(essence(await judged(bytesOf([...mixed, ...rest])))).toEqual(essence(await judged(bytesOf(own))));
    });
    await fc.assert(property, RUNS);
  });

  test('stamps decide nothing: only how long ago things were first seen does', async () => {
    const property = fc.asyncProperty(
      steps,
      fc.array(fc.date({ noInvalidDate: true }), { minLength: 1 }),
      async (written, stamps) => {
        const { lines } = chatOf(written);
        const restamped = lines.map((line, index) => {
          const timestamp = (stamps[index % stamps.length] ?? new Date(0)).toISOString();
          return JSON.stringify({ ...(JSON.parse(line) as object), timestamp });
        });
        const [before, after] = [await judged(bytesOf(lines)), await judged(bytesOf(restamped))];
        expect([after.verdict, after.reason]).toEqual([before.verdict, before.reason]);
      },
    );
    await fc.assert(property, RUNS);
  });

  test('time alone turns waiting into hung, once, at the moment that was named', async () => {
    const property = fc.asyncProperty(steps, fc.nat(60_000), async (written, seenAgoMs) => {
      const finding = await findingIn(chatOf(written));
      const now = judge(finding, clocksAgo(seenAgoMs));
      const dueMs = now.recheckAtMs ?? Number.NaN;
      const shift = (nowMs: number): Judgement => judge(finding, { ...clocksAgo(seenAgoMs), nowMs });
      const around = now.recheckAtMs === undefined ? [] : [shift(dueMs - 1).verdict, shift(dueMs).verdict];
      expect(around).toEqual(now.recheckAtMs === undefined ? [] : ['busy-or-waiting', 'hung']);
    });
    await fc.assert(property, RUNS);
  });

  test('the record’s answered tasks only ever take tasks away', async () => {
    const property = fc.asyncProperty(steps, fc.subarray(['b1', 'b2', 'b3']), async (written, answered) => {
      const lines = chatOf(written);
      const known = await judged(lines, { answeredTaskIds: new Set(answered) });
      const before = new Set((await judged(lines)).tasks.map(({ id }) => id));
      expect(known.tasks.every(({ id }) => before.has(id) && !answered.includes(id))).toBe(true);
    });
    await fc.assert(property, RUNS);
  });
});

describe('whatever the bytes', () => {
  test('a line never throws', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
      expect(() => parseLine(Buffer.from(bytes), 0, CONTEXT)).not.toThrow();
    });
    fc.assert(property, { numRuns: 2_000 });
  });

  test('a record of any shape never throws', () => {
    const types = fc.constantFrom('user', 'assistant', 'queue-operation', 'attachment', 'system');
    const operations = fc.constantFrom('enqueue', 'dequeue', 'remove', 'popAll');
    const record = fc.record(
      {
        type: types,
        operation: operations,
        message: fc.jsonValue(),
        content: fc.jsonValue(),
        attachment: fc.jsonValue(),
        origin: fc.jsonValue(),
        toolUseResult: fc.jsonValue(),
        sessionId: fc.constantFrom(SESSION, 7, null),
      },
      { requiredKeys: ['type'] },
    );
    const property = fc.property(record, (value) => {
      const line = Buffer.from(JSON.stringify(value));
      expect(() => parseLine(line, 0, CONTEXT)).not.toThrow();
    });
    fc.assert(property, { numRuns: 2_000 });
  });

  test('a file of random bytes and broken chats never throws', async () => {
    const junk = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    const piece = fc.oneof(
      junk,
      steps.map((written: readonly Step[]) => chatOf(written).bytes()),
    );
    const property = fc.asyncProperty(fc.array(piece, { maxLength: 5 }), fc.nat(200), async (pieces, cut) => {
      const whole = Buffer.concat(pieces);
      const outcome = await outcomeOf(whole.subarray(Math.min(cut, whole.length)));
      expect(outcome.kind).toBe('read');
    });
    await fc.assert(property, RUNS);
  });
});
