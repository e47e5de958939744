import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../../cli/provision/free-port.ts';
import { isAlive, type ProcessId } from '#shared/liveness/process-id.js';
import { eventually } from '../../support/events.ts';
import { startProcess, type TestProcess } from '../../support/processes.ts';
import { describe, expect, test } from '../../support/redis.ts';

interface Machine {
  dataDir: string;
  url: string;
  start: () => Promise<TestProcess>;
  /** Processes that the lock names: Redis, workers, watcher. */
  children: () => Promise<ProcessId[]>;
}

/** A data folder and a port of a test's own. */
async function machine(body: (machine: Machine) => Promise<void>): Promise<void> {
  const dataDir = await mkdtemp(join(tmpdir(), 'chat-recovery-start-'));
  const port = await freePort();
  const env = { DATA_DIR: dataDir, PORT: String(port), WORKER_REPLICAS: '2' };
  try {
    await body({
      dataDir,
      url: `http://127.0.0.1:${port}`,
      start: () => startProcess({ file: 'cli/main.ts', args: ['start'], env, ready: /"msg":"Ready\."/ }),
      children: async () => {
        const lock: { children: ProcessId[] } = JSON.parse(await readFile(join(dataDir, 'chat-recovery.lock'), 'utf8'));
        return lock.children;
      },
    });
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}

const ready = async (url: string): Promise<boolean> => (await fetch(`${url}/readyz`)).ok;

describe('npm start', () => {
  test('runs everything, refuses a second one by name, and ends in order', async () => {
    await machine(async ({ dataDir, url, start, children }) => {
      const first = await start();
      expect(await ready(url)).toBe(true);
      const running = await children();
      expect(running).toHaveLength(4);

      const second = await startProcess({
        file: 'cli/main.ts',
        args: ['start'],
        env: { DATA_DIR: dataDir },
        ready: undefined,
      });
      expect((await second.exited).code).toBe(1);
      expect(second.lines.join('\n')).toContain(`${dataDir} is in use by chat-recovery start, process ${first.pid}.`);

      expect(await first.stop()).toEqual({ code: 0, signal: null });
      const stopped = first.lines.filter((line) => line.includes('"msg":"Stopped."')).map((line) => line.split(' ')[0]);
      expect(stopped).toEqual(['watcher', 'worker', 'worker', 'start']);
      expect(running.filter(isAlive)).toEqual([]);
    });
  });

  test('starts again what dies, and Redis keeps what it had answered', async () => {
    await machine(async ({ url, start, children }) => {
      const program = await start();
      const paused = await fetch(`${url}/v1/pause`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
      expect(paused.status).toBeLessThan(300);
      const before = await children();
      for (const { pid } of before) process.kill(pid, 'SIGKILL');
      await eventually(async () => (await children()).length === 4 && ready(url), { timeoutMs: 30_000 });
      const after = await children();
      expect(after.map(({ pid }) => pid)).not.toContain(before[0]?.pid);
      expect(await (await fetch(`${url}/v1/pause`)).text()).toContain('"paused":true');
      await program.stop();
    });
  });

  test('after a kill -9 of itself nothing is left behind, and the next one takes over the folder', async () => {
    await machine(async ({ url, start, children }) => {
      const killed = await start();
      const orphans = await children();
      killed.signal('SIGKILL');
      await killed.exited;
      const next = await start();
      expect(await ready(url)).toBe(true);
      expect(orphans.filter(isAlive)).toEqual([]);
      await next.stop();
    });
  });

  test('says in one sentence which setting is wrong, and ends with 1', async () => {
    await machine(async ({ dataDir }) => {
      const env = { DATA_DIR: dataDir, HOST: '0.0.0.0' };
      const program = await startProcess({ file: 'cli/main.ts', args: ['start'], env, ready: undefined });
      expect((await program.exited).code).toBe(1);
      expect(program.lines.join('\n')).toContain('ADMIN_TOKEN');
    });
  });
});
