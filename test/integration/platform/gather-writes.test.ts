import { closeRedis, createRedis, untilReady } from '#shared/platform/redis.js';
import { silentLogger } from '#shared/platform/logger.js';
import { eventually } from '../../support/events.ts';
import { tcpProxy } from '../../support/proxy.ts';
import { describe, expect, test } from '../../support/redis.ts';

describe('commands of one turn of the event loop', () => {
  test('leave in one write, are all answered, and go on so after a new connection', async ({ redis }) => {
    let chunks = 0;
    const proxy = await tcpProxy({ port: Number(new URL(redis.url).port) }, (_chunk, direction) => {
      if (direction === 'toServer') chunks += 1;
      return 'pass';
    });
    const url = `redis://127.0.0.1:${proxy.port}`;
    const client = createRedis({ url, role: 'fail-fast', name: 'gathering', logger: silentLogger() });
    const key = `{${redis.tag}}:counter`;
    const twenty = async (): Promise<number> => {
      const before = chunks;
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.incr(key)));
      expect(answers.length).toBe(20);
      return chunks - before;
    };
    try {
      await untilReady(client, 5_000);
      expect(await twenty()).toBe(1);
      proxy.cutOnce();
      await eventually(() => client.status !== 'ready', { what: 'the cut' });
      expect(await untilReady(client, 5_000)).toBe(true);
      expect(await twenty()).toBe(1);
      expect(await client.get(key)).toBe('40');
      await redis.client.del(key);
    } finally {
      await closeRedis(client);
      await proxy.close();
    }
  });
});
