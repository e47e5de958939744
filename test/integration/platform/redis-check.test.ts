import { checkRedis } from '#shared/platform/redis-check.js';
import { silentLogger } from '#shared/platform/logger.js';
import { closeRedis, createRedis } from '#shared/platform/redis.js';
import { isolatedRedis } from '../../support/isolated-redis.ts';
import { expect, test } from '../../support/redis.ts';

/** Warnings about a Redis of its own, after `settings` were set on it. */
async function warnings(durable: boolean, settings: Record<string, string> = {}): Promise<string[]> {
  const server = await isolatedRedis({ durable });
  const client = createRedis({ url: server.url, role: 'patient', name: 'check', logger: silentLogger() });
  try {
    for (const [name, value] of Object.entries(settings)) await client.config('SET', name, value);
    return await checkRedis(client);
  } finally {
    await closeRedis(client);
    await server.close();
  }
}

test('a durable Redis that evicts nothing raises no warning', async () => {
  expect(await warnings(true)).toEqual([]);
});

test('R43: no append-only file is named', async () => {
  expect(await warnings(false)).toEqual([expect.stringContaining('appendonly is no')]);
});

test('R43: an fsync once a second is named', async () => {
  expect(await warnings(true, { appendfsync: 'everysec' })).toEqual([
    expect.stringContaining('appendfsync is everysec'),
  ]);
});

test.for(['allkeys-lru', 'volatile-lru'])('R43: eviction is named: %s', async (policy) => {
  expect(await warnings(true, { 'maxmemory-policy': policy })).toEqual([
    expect.stringContaining(`maxmemory-policy is ${policy}; set noeviction`),
  ]);
});
