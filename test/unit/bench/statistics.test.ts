import { describe, expect, it } from 'vitest';
import { atLeast, atMost } from '../../../bench/kit/bench.ts';
import { growthOf, quantile, single, slopeOf, spreadOf } from '../../../bench/kit/statistics.ts';

describe('quantile', () => {
  it.each([
    [[3], 0.5, 3],
    [[4, 1, 3, 2], 0.5, 2.5],
    [[5, 1, 3], 0.5, 3],
    [[1, 2, 3, 4, 5], 0, 1],
    [[1, 2, 3, 4, 5], 1, 5],
    [[0, 100], 0.99, 99],
  ])('of %j at %d is %d', (values, q, expected) => expect(quantile(values, q)).toBe(expected));

  it('of nothing is no number', () => expect(quantile([], 0.5)).toBeNaN());

  it('leaves the order of what it was given', () => {
    const values = [3, 1, 2];
    quantile(values, 0.5);
    expect(values).toEqual([3, 1, 2]);
  });
});

it('a spread is median, least and greatest', () => {
  expect(spreadOf([9, 2, 4])).toEqual({ median: 4, min: 2, max: 9 });
  expect(single(7)).toEqual({ median: 7, min: 7, max: 7 });
});

describe('slope', () => {
  it('of a straight line is its own', () =>
    expect(
      slopeOf([
        [0, 1],
        [1, 3],
        [2, 5],
      ]),
    ).toBeCloseTo(2));
  it('of a flat one is 0', () =>
    expect(
      slopeOf([
        [0, 4],
        [5, 4],
      ]),
    ).toBe(0));
  it('over one moment is 0', () =>
    expect(
      slopeOf([
        [1, 1],
        [1, 2],
      ]),
    ).toBe(0));
});

describe('growth', () => {
  const sizes = [100, 1_000, 10_000];
  it.each([
    ['in proportion', 1, (n: number) => 3 * n],
    ['with the square', 2, (n: number) => n * n],
    ['not at all', 0, () => 5],
  ])('%s is %d', (_name, power, cost) => expect(growthOf(sizes.map((n) => [n, cost(n)] as const))).toBeCloseTo(power));
});

describe('a bar', () => {
  const row = { bar: 1, what: 'w', against: '×', figure: spreadOf([0.8, 1, 1.4]) };
  it('is met by the median', () => {
    expect(atMost(1, row)).toMatchObject({ met: true, limit: '<= 1' });
    expect(atMost(0.9, row).met).toBe(false);
    expect(atLeast(1, row).met).toBe(true);
    expect(atLeast(1.1, row).met).toBe(false);
  });
  it('is not met by a figure that is void', () => expect(atMost(1, { ...row, void: 'why' }).met).toBe(false));
});
