import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { inject } from 'vitest';
import { closeRedis } from '#shared/platform/redis.js';
import { test as leakTest } from './leaks.ts';

export { afterAll, afterEach, beforeAll, beforeEach, describe, expect, vi } from 'vitest';

export interface RedisFixture {
  /** Address of the run's Redis. Give it to what is under test, which makes its own clients. */
  url: string;
  /** This test's own namespace: the hash tag of every key it may write (without braces). */
  tag: string;
  /** A client of the test's own, closed by the fixture. */
  client: Redis;
}

/**
 * A test on the real Redis: `test('…', async ({ redis }) => …)`.
 *
 * After the test every key with its tag is removed, and the test fails where it leaves a client, worker, timer or child
 * process behind. Do not stop, freeze or configure this Redis: others use it at the same time ({@link isolatedRedis}).
 */
export const test = leakTest.extend<{ redis: RedisFixture }>({
  redis: async ({ leaks: _leaks }, use) => {
    const url = inject('redisUrl');
    const tag = `test-${randomUUID()}`;
    const client = new Redis(url, { maxRetriesPerRequest: null, connectionName: `${tag}:fixture` });
    await client.ping();
    try {
      await use({ url, tag, client });
    } finally {
      await removeKeys(client, tag);
      await closeRedis(client);
    }
  },
});

/** Removes every key that carries the tag. */
export async function removeKeys(client: Redis, tag: string): Promise<void> {
  for await (const keys of client.scanStream({ match: `*{${tag}}*`, count: 1_000 })) {
    if (Array.isArray(keys) && keys.length > 0) await client.unlink(keys.map(String));
  }
}
