import { describe, expect, test } from 'vitest';
import type { Running } from '../../../cli/supervise/child.ts';
import { keepRunning, restartDelayMs } from '../../../cli/supervise/keep-running.ts';
import { renderLine } from '../../../cli/supervise/line.ts';
import { eventually } from '../../support/events.ts';

/** A part that a test ends at will. */
function part(pid: number): Running & { end: (how: string) => void } {
  const ending: { end?: (how: string) => void } = {};
  const ended = new Promise<string>((resolve) => {
    ending.end = resolve;
  });
  const end = (how: string): void => ending.end?.(how);
  return { pid, ended, end, stop: async () => end('stopped') };
}

describe('keeping a part running', () => {
  test('waits longer after each failure, up to half a minute', () => {
    expect([1, 2, 3, 4, 7, 20].map(restartDelayMs)).toEqual([500, 1_000, 2_000, 4_000, 30_000, 30_000]);
  });

  test('starts it again when it ends, says so, and tells its process id', async () => {
    const started: ReturnType<typeof part>[] = [];
    const pids: (number | undefined)[] = [];
    const said: string[] = [];
    const kept = await keepRunning({
      name: 'worker 1',
      start: async () => {
        const next = part(started.length + 1);
        started.push(next);
        return next;
      },
      say: (sentence) => said.push(sentence),
      onPid: (pid) => pids.push(pid),
    });
    started[0]?.end('signal SIGKILL');
    await eventually(() => started.length === 2);
    expect(said).toEqual(['worker 1 ended (signal SIGKILL); it is started again in 0.5 s.']);
    await kept.stop();
    expect(pids).toEqual([1, undefined, 2, undefined]);
  });

  test('goes on trying where a new start fails', async () => {
    let starts = 0;
    const first = part(1);
    const kept = await keepRunning({
      name: 'redis',
      start: async () => {
        starts += 1;
        if (starts === 2) throw new Error('no port');
        return starts === 1 ? first : part(starts);
      },
      say: () => undefined,
    });
    first.end('gone');
    await eventually(() => starts === 3, { timeoutMs: 5_000 });
    await kept.stop();
    expect(starts).toBe(3);
  });

  test('leaves a first start that fails to the caller', async () => {
    const failing = keepRunning({
      name: 'x',
      start: () => Promise.reject(new Error('bad HOST')),
      say: () => undefined,
    });
    await expect(failing).rejects.toThrow('bad HOST');
  });

  test('does not wait out the delay when it is stopped meanwhile', async () => {
    const only = part(1);
    const said: string[] = [];
    const kept = await keepRunning({ name: 'x', start: async () => only, say: (text) => said.push(text) });
    only.end('gone');
    await eventually(() => said.length === 1);
    const began = performance.now();
    await kept.stop();
    expect(performance.now() - began).toBeLessThan(300);
  });
});

describe('a line of a child', () => {
  const entry = { level: 40, time: 0, pid: 1, hostname: 'h', name: 'watcher', sessionId: 'abc', msg: 'It is gone.' };

  test('stands as it is behind the child’s name where a program reads it', () => {
    expect(renderLine('watcher', '{"level":30}', false)).toBe('watcher   | {"level":30}');
  });

  test('is easy to read on a terminal', () => {
    expect(renderLine('watcher', JSON.stringify(entry), true)).toBe(
      'watcher   | 00:00:00.000 warn  It is gone. sessionId=abc',
    );
  });

  test('that is no log entry is shown as it is', () => {
    expect(renderLine('worker 1', 'Error: boom', true)).toBe('worker 1  | Error: boom');
  });
});
