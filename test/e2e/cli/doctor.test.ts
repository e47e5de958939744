import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Deployment } from '../../support/deployment.ts';
import { eventually } from '../../support/events.ts';
import { canIsolateRedis, isolatedRedis } from '../../support/isolated-redis.ts';
import { startProcess } from '../../support/processes.ts';
import { describe, expect, test } from '../../support/redis.ts';

interface Finding {
  part: string;
  state: string;
  what: string;
  todo?: string;
}

/** Runs it as a process; `wrong` by part. */
async function doctor(env: Record<string, string>) {
  const child = await startProcess({ file: 'cli/main.ts', args: ['doctor', '--json'], env, ready: undefined });
  const { code } = await child.exited;
  const findings = child.lines.map((line) => JSON.parse(line) as Finding);
  return { code, findings, wrong: findings.filter(({ state }) => state === 'wrong').map(({ part }) => part) };
}

describe('chat-recovery doctor', () => {
  test('nothing to reach: each part in one line, with what to do, and 1', async () => {
    const home = mkdtempSync(join(tmpdir(), 'doctor-'));
    const env = {
      HOME: home,
      REDIS_URL: 'redis://:a-password@127.0.0.1:1',
      PORT: '1',
      SESSION_API_URL: 'http://127.0.0.1:1',
    };
    const { code, findings, wrong } = await doctor(env);
    expect(code).toBe(1);
    expect(wrong.toSorted()).toEqual(['redis', 'session API of default', 'transcripts of default', 'watcher']);
    for (const { state, todo } of findings) if (state === 'wrong') expect(todo).toMatch(/^[A-Z].+\.$/);
    expect(JSON.stringify(findings)).not.toContain('a-password');
    rmSync(home, { recursive: true });
  });

  test('settings that no process would start with: each field, and nothing else is tried', async () => {
    const { code, findings } = await doctor({ HOST: '0.0.0.0' });
    expect(code).toBe(1);
    const wrong = findings.filter(({ state }) => state === 'wrong').map(({ what }) => what.split(' ')[0]);
    expect(wrong).toEqual(['ADMIN_TOKEN', 'WEBHOOK_SECRETS']);
    expect(findings.at(-1)).toMatchObject({ state: 'skipped' });
  });

  test.skipIf(!canIsolateRedis())('a deployment that is well: 0; then what breaks is what it names', async () => {
    const redis = await isolatedRedis({ durable: true });
    const tag = 'doctor';
    const deployment = await Deployment.start({ redisUrl: redis.url, tag, workers: 1 });
    const env = { ...deployment.environment() };
    const client = new Redis(redis.url);
    try {
      await deployment.createChat('healthy');
      await eventually(async () => (await client.exists(`{${tag}}:sessions`)) === 1);
      const well = await doctor(env);
      expect(well).toMatchObject({ code: 0, wrong: [] });
      expect(well.findings.map(({ part, state }) => `${part} ${state}`)).toEqual(
        expect.arrayContaining([
          'redis ok',
          'clock ok',
          'workers ok',
          'queue ok',
          'webhooks ok',
          'watcher ok',
          'file events ok',
          'session API of default ok',
        ]),
      );

      await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
      await client.config('SET', 'appendonly', 'no');
      await Promise.all(deployment.workers.map((worker) => worker.stop()));
      const ill = await doctor({ ...env, SESSION_API_TOKEN: 'another', PROJECTS_DIR: '/nowhere' });
      expect(ill.code).toBe(1);
      expect(ill.wrong.toSorted()).toEqual([
        'projects of default',
        'redis',
        'redis',
        'session API of default',
        'workers',
      ]);
    } finally {
      client.disconnect();
      await deployment.stop();
      await redis.close();
    }
  });
});
