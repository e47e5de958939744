import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { silentLogger } from '#shared/platform/logger.js';
import { closeRedis, createRedis } from '#shared/platform/redis.js';
import { byDebian } from '../../../cli/provision/by-debian.ts';
import { byUrl } from '../../../cli/provision/by-url.ts';
import type { ProvisionContext, RedisFound } from '../../../cli/provision/found.ts';
import { freePort } from '../../../cli/provision/free-port.ts';
import { launchRedis } from '../../../cli/provision/launch.ts';
import { run } from '../../../cli/provision/run.ts';
import { describe, expect, test } from '../../support/redis.ts';

const context = (env: NodeJS.ProcessEnv): ProvisionContext => ({ env, run, say: () => undefined });

/** Starts what was found, writes and reads, stops it; false where it does not do as Redis does. */
async function works(found: RedisFound): Promise<boolean> {
  const dir = await mkdtemp(join(tmpdir(), 'chat-recovery-ways-'));
  const server = await launchRedis(found, { dir, durable: true, run });
  const client = createRedis({ url: server.url, role: 'patient', name: 'ways', logger: silentLogger() });
  await client.set('key', 'value');
  const value = await client.get('key');
  await closeRedis(client);
  await server.stop();
  await rm(dir, { recursive: true, force: true });
  return value === 'value';
}

describe('REDIS_URL', () => {
  test('is taken where it answers', async ({ redis }) => {
    expect(await byUrl.find(context({ REDIS_URL: redis.url }))).toEqual({ kind: 'url', url: redis.url });
  });

  test('is an error where it does not answer, and its password is not shown', async () => {
    const url = `redis://user:hush@127.0.0.1:${await freePort()}`;
    const failure = await byUrl.find(context({ REDIS_URL: url })).catch((error: Error) => error.message);
    expect(failure).toContain('REDIS_URL');
    expect(failure).toContain('does not answer');
    expect(failure).not.toContain('hush');
  });
});

describe.runIf(existsSync('/usr/bin/apt-get') && process.env['TEST_REDIS'] !== 'docker')('the Debian package', () => {
  test('is fetched into the cache once, touches nothing else, and works', { timeout: 180_000 }, async () => {
    const cache = await mkdtemp(join(tmpdir(), 'chat-recovery-cache-'));
    const said: string[] = [];
    const first = await byDebian.find({ ...context({ XDG_CACHE_HOME: cache }), say: (text) => said.push(text) });
    if (typeof first === 'string') throw new Error(first);
    expect(first.kind === 'program' && first.path.startsWith(cache)).toBe(true);
    expect(await works(first)).toBe(true);
    expect(said).toHaveLength(1);

    const again = await byDebian.find({ ...context({ XDG_CACHE_HOME: cache }), say: (text) => said.push(text) });
    expect(again).toEqual(first);
    expect(said).toHaveLength(1);
    expect(await readdir(join(cache, 'chat-recovery'))).toHaveLength(1);
    await rm(cache, { recursive: true, force: true });
  });
});
