import { Cluster } from 'ioredis';
import { createRedis, closeRedis } from '#shared/platform/redis.js';
import { checkRedis } from '#shared/platform/redis-check.js';
import { silentLogger } from '#shared/platform/logger.js';
import { eventually, eventuallyPasses } from '../../support/events.ts';
import { afterAll, beforeAll, describe, expect, test } from '../../support/redis.ts';
import { canIsolateRedis } from '../../support/isolated-redis.ts';
import { startCluster, type ClusterTopology } from '../../support/redis-topologies.ts';
import { sessionWhen } from '../watcher/harness.ts';
import { deploy } from './deployment.ts';

describe.skipIf(!canIsolateRedis())('on a Redis Cluster of three masters', () => {
  const cluster: { now?: ClusterTopology } = {};
  beforeAll(async () => {
    cluster.now = await startCluster();
  }, 60_000);
  afterAll(() => cluster.now?.close());
  const topology = (): ClusterTopology => {
    if (cluster.now === undefined) throw new Error('no cluster');
    return cluster.now;
  };

  test('R43: the main path: turn end, kill, one nudge, its reply; every key lies in one slot', async () => {
    const deployment = await deploy({ redisUrl: topology().url, workers: 2 });
    try {
      const chat = deployment.chat();
      deployment.api.onTurn = ({ text }) => {
        chat.transcript.prompt(text);
        chat.transcript.reply();
      };
      expect((await chat.turnEnded()).status).toBe(202);
      chat.kill();
      await sessionWhen(deployment.watcher, chat, ({ state }) => state === 'recovered');
      expect(deployment.api.received.map(({ outcome }) => outcome)).toEqual(['started']);

      const keys = await keysOf(topology(), deployment.tag);
      // The record, the trail, the armed index, the queue's own: all there, or the walk proves nothing.
      expect(keys.length).toBeGreaterThan(10);
      const slots = await Promise.all(
        keys.map(async (key) => Number(await topology().masters[0]?.ask('CLUSTER', 'KEYSLOT', key))),
      );
      expect(new Set(slots).size).toBe(1);
    } finally {
      await deployment.close();
    }
  });

  test('a Continue is answered, the pause holds, and readiness says yes', async () => {
    const deployment = await deploy({
      redisUrl: topology().url,
      env: { PADDOCK_RECOVERY_AUTODRIVE: 'false' },
    });
    try {
      const chat = deployment.chat();
      await chat.turnEnded();
      chat.kill();
      await sessionWhen(deployment.watcher, chat, ({ state }) => state === 'killed');
      const { call } = deployment.watcher;
      expect((await call('/v1/pause', { method: 'POST' })).status).toBe(200);
      const pressed = await call(`/v1/sessions/${chat.sessionId}/continue`, { method: 'POST' });
      expect([pressed.status, await pressed.text()]).toEqual([200, expect.any(String)]);
      expect(deployment.api.turns(chat.sessionId)).toHaveLength(1);
      await eventuallyPasses(async () => expect((await call('/readyz')).status).toBe(200));
    } finally {
      await deployment.close();
    }
  });

  test('R43: every master is asked about eviction and persistence', async () => {
    const client = createRedis({ url: topology().url, role: 'patient', name: 'check', logger: silentLogger() });
    try {
      await topology().masters[2]?.ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
      await eventually(() => client.status === 'ready');
      expect(await checkRedis(client)).toEqual([
        expect.stringContaining('appendonly is no'),
        expect.stringContaining('maxmemory-policy is allkeys-lru'),
      ]);
    } finally {
      await topology().masters[2]?.ask('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
      await closeRedis(client);
    }
  });

  test('R43: a script over two tags is refused there: one tag for all is what makes ours run', async () => {
    const client = createRedis({ url: topology().url, role: 'patient', name: 'slots', logger: silentLogger() });
    try {
      await eventually(() => client.status === 'ready');
      expect(client).toBeInstanceOf(Cluster);
      await expect(client.eval('return 1', 2, '{a}:x', '{b}:x')).rejects.toThrow(/slot/i);
      expect(await client.eval('return 1', 2, '{a}:x', '{a}:y')).toBe(1);
    } finally {
      await closeRedis(client);
    }
  });
});

/** Every key of every master that carries the tag. */
async function keysOf({ masters }: ClusterTopology, tag: string): Promise<string[]> {
  const lists = await Promise.all(masters.map((node) => node.ask('KEYS', `*${tag}*`)));
  return (lists as string[][]).flat();
}
