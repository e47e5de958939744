import { describe, expect, it } from 'vitest';
import type { QueueState } from '#shared/queue/pulse.js';
import { createHearing } from '../../../services/recovery-worker/hearing.ts';

const DEAF_AFTER_MS = 20_000;

/** A worker's hearing over a clock that the test moves; both clocks go together. */
function world() {
  const clock = { ms: 0 };
  const hearing = createHearing(DEAF_AFTER_MS, () => clock.ms);
  const judge = (state: Partial<QueueState>, active = 0): string =>
    hearing.judge(
      {
        nowMs: clock.ms,
        workers: [],
        overdue: 0,
        overdueMs: 0,
        waiting: 0,
        oldestWaiting: undefined,
        paused: false,
        ...state,
      },
      { active, concurrency: 5 },
    );
  return { clock, hearing, judge };
}

describe('R38: a worker is deaf', () => {
  it('when a delayed job is long overdue and nothing was taken', () => {
    const { clock, judge } = world();
    clock.ms = DEAF_AFTER_MS;
    expect(judge({ overdue: 1, overdueMs: DEAF_AFTER_MS })).toBe('deaf');
  });

  it('when the same job stays at the head of the waiting list', () => {
    const { clock, judge } = world();
    clock.ms = 100_000;
    expect(judge({ waiting: 1, oldestWaiting: 'a' })).toBe('fine');
    clock.ms += DEAF_AFTER_MS;
    expect(judge({ waiting: 1, oldestWaiting: 'a' })).toBe('deaf');
  });
});

describe('R38: a worker is not deaf', () => {
  it('with nothing to do for days', () => {
    const { clock, judge } = world();
    clock.ms = 4 * 86_400_000;
    expect(judge({})).toBe('fine');
  });

  it('a moment after it took something, was full, or was replaced', () => {
    const { clock, hearing, judge } = world();
    const overdue = { overdue: 9, overdueMs: 60_000 };
    clock.ms = 50_000;
    hearing.took();
    expect(judge(overdue)).toBe('unsure');
    clock.ms += DEAF_AFTER_MS;
    expect(judge(overdue, 5)).toBe('unsure');
    clock.ms += DEAF_AFTER_MS - 1;
    expect(judge(overdue)).toBe('unsure');
    clock.ms += 1;
    expect(judge(overdue)).toBe('deaf');
    hearing.reset();
    expect(judge(overdue)).toBe('unsure');
  });

  it('while the waiting list moves, however long it is', () => {
    const { clock, judge } = world();
    for (const id of ['a', 'b', 'c', 'd']) {
      clock.ms += DEAF_AFTER_MS - 1;
      expect(judge({ waiting: 1_000, oldestWaiting: id })).toBe('fine');
    }
  });

  it('while the queue itself is paused', () => {
    const { clock, judge } = world();
    clock.ms = 100_000;
    expect(judge({ overdue: 1, overdueMs: 90_000, oldestWaiting: 'a', paused: true })).toBe('fine');
  });
});
