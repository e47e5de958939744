import { expect, test } from 'vitest';
import { createLimiter } from '../../../services/watcher/limiter.ts';

test('at most so many run at once, all get their turn in order, a failure frees its place', async () => {
  const limit = createLimiter(2);
  const order: number[] = [];
  let running = 0;
  let most = 0;
  const work = (n: number) => async () => {
    running += 1;
    most = Math.max(most, running);
    order.push(n);
    await Promise.resolve();
    running -= 1;
    if (n === 1) throw new Error('one');
    return n;
  };
  const results = await Promise.allSettled([0, 1, 2, 3, 4].map((n) => limit(work(n))));
  expect(results.map((result) => result.status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
  expect(order).toEqual([0, 1, 2, 3, 4]);
  expect(most).toBe(2);
});
