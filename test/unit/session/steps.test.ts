import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { nextStepMs } from '#shared/session/steps.js';

const DAY = 86_400_000;
const S = 1_000;
const MIN = 60 * S;

test('the steps of one watch: sparse, hourly at last, and the last at its greatest age', () => {
  const ages: number[] = [];
  for (let age = 0; age < DAY && ages.length < 100;) {
    age = nextStepMs(0, age, DAY);
    ages.push(age);
  }
  expect(ages.slice(0, 8)).toEqual([10 * S, 30 * S, 2 * MIN, 10 * MIN, 35 * MIN, 95 * MIN, 155 * MIN, 215 * MIN]);
  expect(ages.at(-1)).toBe(DAY);
  expect(ages).toHaveLength(29);
});

test('whatever the moment: the step lies ahead and never past the greatest age', () => {
  fc.assert(
    fc.property(
      fc.nat(DAY),
      fc.integer({ min: -DAY, max: 2 * DAY }),
      fc.integer({ min: 1, max: DAY }),
      (armed, age, max) => {
        const now = armed + age;
        const next = nextStepMs(armed, now, max);
        expect(next).toBeGreaterThan(age < 0 ? armed : now);
        expect(next).toBeLessThanOrEqual(Math.max(armed + max, now + S, armed + S));
      },
    ),
  );
});
