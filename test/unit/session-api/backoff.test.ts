import { assert, double, integer, option, property } from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs } from '#shared/session-api/backoff.js';

const upper = (attempt: number) => backoffMs(attempt, 1 - Number.EPSILON);

test('the upper bounds double from half a second to thirty', () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8, 100].map(upper)).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000,
  ]);
});

test('a run of small random numbers is no tight loop', () => {
  expect(backoffMs(1, 0)).toBe(100);
  expect(backoffMs(1, 0, undefined, { baseMs: 10 })).toBe(10);
});

test('never shorter than the server asked, never longer than cap or asked', () => {
  assert(
    property(
      integer({ min: 0, max: 2_000 }),
      double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      option(integer({ min: 0, max: 600_000 }), { nil: undefined }),
      (attempt, random, asked) => {
        const wait = backoffMs(attempt, random, asked);
        expect(wait).toBeGreaterThanOrEqual(Math.max(100, asked ?? 0));
        expect(wait).toBeLessThanOrEqual(Math.max(30_000, asked ?? 0));
      },
    ),
  );
});
