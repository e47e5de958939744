import { describe, expect, it } from 'vitest';
import { LIVE_EVENTS, liveEventName, wanted } from '#shared/trail/live-events.js';
import { DECISION_REASONS, DELIVERY_REASONS, TRAIL_KINDS, type TrailEntry } from '#shared/trail/reasons.js';
import { compareStreamIds, isAfter, isStreamId } from '#shared/trail/stream-id.js';
import { isLost } from '#shared/trail/trail-stream.js';
import { TRAIL_WORDS } from '#shared/trail/words.js';
import { REASONS } from '#shared/transcript/finding.js';
import { Tally } from '../../../services/watcher/live/tally.ts';
import { WORDS } from '../../../services/watcher/routes/reasons.ts';

const HOUR = 3_600_000;
const line = (atMs: number, kind = 'killed-task') => ({ id: `${atMs}-0`, entry: { kind } as TrailEntry });

describe('the counts over time', () => {
  const now = 1_800_000_000_000;

  it('fall into buckets that end now, empty ones too', () => {
    const tally = new Tally();
    for (const agoMs of [0, 1_000, 3 * HOUR, 23 * HOUR, 26 * HOUR]) tally.add(line(now - agoMs));
    tally.add(line(now, 'nudged'));
    tally.add(line(now, 'turn-ended'));
    tally.add({ id: `${now}-1`, entry: undefined });
    const buckets = tally.buckets('24h', now);
    expect(buckets).toHaveLength(48);
    expect(buckets.reduce((sum, { hangs }) => sum + hangs, 0)).toBe(4);
    expect(buckets.at(-1)).toMatchObject({ nudges: 1, recoveries: 0 });
    expect(tally.buckets('7d', now).reduce((sum, { hangs }) => sum + hangs, 0)).toBe(5);
  });

  it('are forgotten after a week, so that they need no more memory than a week has minutes', () => {
    const tally = new Tally();
    for (let minute = 0; minute < 20_000; minute += 1) tally.add(line(now + minute * 60_000));
    const end = now + 20_000 * 60_000;
    expect(tally.buckets('7d', end).reduce((sum, { hangs }) => sum + hangs, 0)).toBeLessThanOrEqual(7 * 24 * 60);
  });
});

describe('live events', () => {
  it('every kind of trail line has words and a name that is documented', () => {
    for (const kind of TRAIL_KINDS) {
      expect(TRAIL_WORDS[kind]).toMatch(/\.$/);
      expect(LIVE_EVENTS).toContain(liveEventName(kind));
    }
  });

  it('every code that can be answered is told in words', () => {
    expect(WORDS).toMatchObject({ decisions: DECISION_REASONS, deliveries: DELIVERY_REASONS, verdicts: REASONS });
    expect(Object.keys(WORDS.settings)).toContain('autoReDrive');
  });

  it('the root workspace, an empty slug, can be wanted', () => {
    const entry = { project: '', server: 's', sessionId: 'x', kind: 'nudged' } as TrailEntry;
    expect(wanted({ project: '' }, entry)).toBe(true);
    expect(wanted({ project: 'p' }, entry)).toBe(false);
  });
});

describe('ids of the stream', () => {
  it('are ordered by time, then by number, not as text', () => {
    expect(isAfter('10-0', '9-0')).toBe(true);
    expect(isAfter('9-10', '9-9')).toBe(true);
    expect(compareStreamIds('9-1', '9-1')).toBe(0);
    expect(['1-2', '0-0', '12'].map(isStreamId)).toEqual([true, true, false]);
  });

  it.each([
    ['older than what is left', '5-0', { first: '6-0', last: '9-0', whole: false }, true],
    ['the oldest that is left', '6-0', { first: '6-0', last: '9-0', whole: false }, false],
    ['the beginning of a whole stream', '0-0', { first: '6-0', last: '9-0', whole: true }, false],
    ['one that was never given', '10-0', { first: '6-0', last: '9-0', whole: true }, true],
    ['the end of a stream trimmed to nothing', '9-0', { first: undefined, last: '9-0', whole: false }, false],
    ['before the end of it', '8-0', { first: undefined, last: '9-0', whole: false }, true],
  ])('%s', (_what, id, extent, lost) => expect(isLost(id, extent)).toBe(lost));
});
