import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { startProcess, type TestProcess } from '../../support/processes.ts';
import { describe, expect, test } from '../../support/redis.ts';

/** Runs the demo in a temporary folder of its own, which is given back with what is left in it. */
async function demo(args: readonly string[], check: (run: TestProcess, tmp: string) => Promise<void>): Promise<void> {
  const tmp = await mkdtemp(join(tmpdir(), 'chat-recovery-e2e-'));
  const env = { TMPDIR: tmp, REDIS_URL: inject('redisUrl') };
  const run = await startProcess({ file: 'cli/main.ts', args: ['demo', ...args], env, ready: undefined });
  try {
    await check(run, tmp);
  } finally {
    await run.stop('SIGTERM');
    await rm(tmp, { recursive: true, force: true });
  }
}

describe('npm run demo -- --once', () => {
  test('tells the story in its order and ends with 0, leaving nothing behind', async () => {
    await demo(['--once'], async (run, tmp) => {
      expect(await run.exited).toEqual({ code: 0, signal: null });
      const story = run.lines.filter((line) => line.includes(' hung ')).join('\n');
      expect(story).toMatch(
        /the turn ended[\s\S]*killed the background task[\s\S]*notice[\s\S]*debounce[\s\S]*nudge[\s\S]*the chat says/,
      );
      expect(run.lines.filter((line) => line.includes('✗'))).toEqual([]);
      expect((await readdir(tmp)).filter((name) => name.startsWith('chat-recovery'))).toEqual([]);
    });
  });

  test('ends with 1 where no worker is there to nudge', async () => {
    await demo(['--once', '--workers', '0', '--give-up-after', '8'], async (run) => {
      expect((await run.exited).code).toBe(1);
      expect(run.lines.join('\n')).toContain('✗ It was nudged exactly once. (0 nudges)');
    });
  });

  test('ends with 1 on a second nudge', async () => {
    await demo(['--once', '--sabotage', 'second-nudge'], async (run) => {
      expect((await run.exited).code).toBe(1);
      expect(run.lines.join('\n')).toContain('✗ It was nudged exactly once. (2 nudges)');
    });
  });

  test('ends with 1 when the healthy chat was nudged', async () => {
    await demo(['--once', '--sabotage', 'nudge-healthy'], async (run) => {
      expect((await run.exited).code).toBe(1);
      expect(run.lines.join('\n')).toContain('✗ The healthy chat was left alone. (1 nudges)');
    });
  });
});

describe('npm run demo', () => {
  test('stays, with addresses that answer, until Ctrl-C', async () => {
    await demo([], async (run) => {
      const address = (await run.line(/\/v1\/sessions$/, 60_000)).trim();
      expect((await fetch(address)).status).toBe(200);
      await run.line(/healthy: http/);
      expect((await fetch(address.replace('/v1/sessions', '/admin/queues'))).status).toBe(200);
      expect(await run.stop('SIGINT')).toEqual({ code: 0, signal: null });
      await expect(fetch(address)).rejects.toThrow('fetch failed');
    });
  });
});
