import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { judge } from '#shared/transcript/signature.js';
import { clocksAgo, outcomeOf } from '../../support/chat-lines.ts';

/** Recorded and reported chats, damaged at random by a fixed seed: bounded, and the same in every run. */

const SEED = Number(process.env['FUZZ_SEED'] ?? 20_260_115);
const MUTANTS_EACH = 12;
const FIXTURES = join(import.meta.dirname, '../../fixtures');

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.jsonl') && !name.includes('agent-'))
    .map((name) => join(folder, name));

/** mulberry32: small, seeded, good enough to choose where to cut. */
const randomFrom = (seed: number): (() => number) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
};

type Mutation = (content: Buffer, at: number, size: number) => Buffer;

const MUTATIONS: readonly Mutation[] = [
  (content, at, size) => Buffer.concat([content.subarray(0, at), content.subarray(at + size)]),
  (content, at, size) => Buffer.concat([content.subarray(0, at), Buffer.alloc(size), content.subarray(at)]),
  (content, at, size) =>
    Buffer.concat([content.subarray(0, at), content.subarray(at, at + size), content.subarray(at)]),
  (content, at) => content.subarray(0, at),
  (content, at) => content.subarray(at),
  (content, at, size) => Buffer.concat([content.subarray(at, at + size), content]),
  (content, at, size) => {
    const copy = Buffer.from(content);
    for (let n = at; n < Math.min(at + size, copy.length); n += 7) copy[n] = (copy[n] ?? 0) ^ 0xff;
    return copy;
  },
  (content, at) => {
    const newline = content.indexOf(0x0a, at);
    return newline === -1 ? content : Buffer.concat([content.subarray(0, newline), content.subarray(newline + 1)]);
  },
];

test(`damaged chats never throw, whatever is cut, doubled, zeroed or glued (seed ${SEED})`, async () => {
  const random = randomFrom(SEED);
  const files = [...filesIn(join(FIXTURES, 'transcripts')), ...filesIn(join(FIXTURES, 'cases'))];
  expect(files.length).toBeGreaterThanOrEqual(156);
  const verdicts = new Map<string, number>();
  const before = process.memoryUsage().rss;
  for (const file of files) {
    const original = readFileSync(file);
    const sessionId = /"sessionId": ?"([^"]+)"/.exec(original.toString('latin1'))?.[1] ?? '';
    for (let n = 0; n < MUTANTS_EACH; n += 1) {
      let content: Buffer = original;
      for (let rounds = 1 + Math.floor(random() * 3); rounds > 0; rounds -= 1) {
        const mutate = MUTATIONS[Math.floor(random() * MUTATIONS.length)];
        const at = Math.floor(random() * content.length);
        content = mutate?.(content, at, 1 + Math.floor(random() ** 3 * 4_000)) ?? content;
      }
      const outcome = await outcomeOf(content, { sessionId });
      if (outcome.kind !== 'read') throw new Error(`${file}, mutant ${n}: ${outcome.kind}`);
      const { verdict } = judge(outcome.finding, clocksAgo(600_000));
      verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
    }
  }
  // All verdicts still come about: the damage was not so great that nothing was left to judge.
  expect([...verdicts.keys()].toSorted()).toEqual(['busy-or-waiting', 'error-entry', 'hung', 'not-hung']);
  expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1_024 * 1_024);
}, 60_000);
