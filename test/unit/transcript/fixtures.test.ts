import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Clocks, Finding } from '#shared/transcript/finding.js';
import { sessionIdOf } from '#shared/transcript/session-of.js';
import { judge } from '#shared/transcript/signature.js';
import { localFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import { contextOf } from '../../support/chat-lines.ts';

const FIXTURES = join(import.meta.dirname, '../../fixtures');

const real = z.object({
  fixtures: z.array(
    z.object({
      file: z.string(),
      expected: z.string(),
      notifications: z.array(z.object({ taskId: z.string(), status: z.string() })),
    }),
  ),
});
const reported = z.record(
  z.string(),
  z.object({
    verdict: z.string(),
    session_id: z.string(),
    evaluate_at: z.string(),
    debounce_ms: z.number(),
    first_seen_at: z.string().optional(),
    observe: z.string().optional(),
    nudges_since_human: z.number().optional(),
  }),
);

const indexOf = <T>(schema: z.ZodType<T>, file: string): T =>
  schema.parse(JSON.parse(readFileSync(join(FIXTURES, file), 'utf8')));

const findingIn = async (path: string, sessionId: string): Promise<Finding> => {
  const outcome = await readFinding(localFiles, path, contextOf({ sessionId }));
  if (outcome.kind !== 'read') throw new Error(`${path}: ${JSON.stringify(outcome)}`);
  return outcome.finding;
};

/** Everything was first seen at its own stamp, never later than now: as `explain` has it. */
const clocksAt = (nowMs: number, finding: Finding, debounceMs: number, firstSeenMs?: number): Clocks => {
  const seen = (stampMs: number | undefined): number => Math.min(stampMs ?? nowMs, nowMs);
  const pending = finding.kind === 'pending' ? finding : undefined;
  return {
    nowMs,
    debounceMs,
    wakeGraceMs: 30_000,
    noticeSeenMs: firstSeenMs ?? seen(pending?.noticeStampMs),
    wakeSeenMs: seen(pending?.wakeStampMs),
  };
};

const lastStampMs = (path: string): number =>
  Math.max(
    ...[...readFileSync(path, 'utf8').matchAll(/"timestamp":"([^"]+)"/g)].map((match) => Date.parse(match[1] ?? '')),
  );

describe('transcripts recorded from real Claude Code runs', () => {
  const { fixtures } = indexOf(real, 'INDEX.json');

  test('all 116 are here', () => expect(fixtures).toHaveLength(116));

  test.each(fixtures)('$file is $expected', async ({ file, expected, notifications }) => {
    const path = join(FIXTURES, file);
    const finding = await findingIn(path, (await sessionIdOf(localFiles, path)) ?? '');
    const { verdict, tasks } = judge(finding, clocksAt(lastStampMs(path) + 600_000, finding, 5_000));
    // The labels call a chat that is about to be moved not hung.
    expect(verdict === 'busy-or-waiting' ? 'not-hung' : verdict).toBe(expected);
    const ended = notifications.filter(({ status }) => status === 'killed' || status === 'stopped');
    const wanted = expected === 'hung' ? ended.map(({ taskId }) => taskId) : tasks.map(({ id }) => id);
    expect(new Set(tasks.map(({ id }) => id))).toEqual(new Set(wanted));
  });
});

describe('shapes from public reports', () => {
  const cases = Object.entries(indexOf(reported, 'cases/INDEX.json')).map(([file, label]) => ({ file, ...label }));

  test('all 40 are here', () => expect(cases).toHaveLength(40));

  test.each(cases)('$file is $verdict', async (each) => {
    const finding = await findingIn(join(FIXTURES, 'cases', each.file), each.session_id);
    const firstSeen = each.first_seen_at === undefined ? undefined : Date.parse(each.first_seen_at);
    const clocks = clocksAt(Date.parse(each.evaluate_at), finding, each.debounce_ms, firstSeen);
    const { verdict, observations } = judge(finding, clocks);
    expect(verdict).toBe(each.verdict);
    expect(observations).toEqual(expect.arrayContaining(each.observe === undefined ? [] : [each.observe]));
    expect(finding.nudgesSinceHuman).toBe(each.nudges_since_human ?? finding.nudgesSinceHuman);
  });
});
