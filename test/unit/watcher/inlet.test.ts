import { describe, expect, test } from 'vitest';
import { Problem } from '#shared/platform/problem.js';
import { createInlet } from '../../../services/watcher/sources/inlet.ts';

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

describe('the inlet of events that nobody outside keeps', () => {
  test('does the work of one session in its order, again until it succeeds; others do not wait', async () => {
    const inlet = createInlet(quiet, 5);
    const done: string[] = [];
    let failures = 2;
    const last = new Promise<void>((resolve) => {
      inlet.push('a', async () => {
        if (failures-- > 0) throw new Error('Connection is closed.');
        done.push('a1');
      });
      inlet.push('a', async () => {
        done.push('a2');
        resolve();
      });
      inlet.push('b', async () => void done.push('b1'));
    });
    await last;
    expect(done).toEqual(['b1', 'a1', 'a2']);
    await inlet.close();
  });

  test('drops what is refused for good and what fails by our own fault, and says so', async () => {
    const told: string[] = [];
    const tell = (_fields: object, message: string) => void told.push(message);
    const inlet = createInlet({ ...quiet, warn: tell, error: tell }, 5);
    inlet.push('a', async () => {
      throw new TypeError('a mistake');
    });
    inlet.push('a', async () => {
      throw new Problem({ status: 422, code: 'no', detail: 'no' });
    });
    await new Promise<void>((resolve) => inlet.push('a', async () => resolve()));
    expect(told).toEqual(['An event could not be recorded.', 'An event was refused.']);
    await inlet.close();
  });

  test('ends although something never succeeds, and takes nothing more then', async () => {
    const inlet = createInlet(quiet, 5);
    inlet.push('a', async () => {
      throw new Error('Connection is closed.');
    });
    await inlet.close();
    inlet.push('b', async () => expect.unreachable());
  });
});
