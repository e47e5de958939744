import { expect, test } from 'vitest';
import { createOwed } from '../../../services/watcher/owed.ts';

test('what fails again is tried after 1, 2, 4 … s, at last every 30 s', () => {
  let now = 0;
  const owed = createOwed<string, string>(() => now);
  const waits: number[] = [];
  for (let tries = 0; tries < 7; tries += 1) {
    owed.add('x', 'why');
    const from = now;
    while (owed.takeDue().length === 0) now += 50;
    waits.push((now - from + 50) / 1_000);
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 30, 30]);
});

test('what was handed out is not handed out again until it is owed anew, settled, or 30 s have passed', () => {
  let now = 0;
  const owed = createOwed<string, string>(() => now);
  owed.add('x', 'why');
  now = 1_000;
  expect(owed.takeDue()).toEqual([{ item: 'x', why: 'why' }]);
  now = 20_000;
  expect(owed.takeDue()).toEqual([]);
  now = 31_000;
  expect(owed.takeDue()).toHaveLength(1);
  owed.settle('x');
  now = 100_000;
  expect([owed.takeDue(), owed.size()]).toEqual([[], 0]);
});

test('hurried, everything is due at once', () => {
  const owed = createOwed<string, string>(() => 10);
  owed.add('x', 'a');
  owed.add('y', 'b');
  owed.hurry();
  expect(owed.takeDue().map(({ item }) => item)).toEqual(['x', 'y']);
});
