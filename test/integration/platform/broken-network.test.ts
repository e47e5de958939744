import { silentLogger } from '#shared/platform/logger.js';
import { closeRedis, createRedis, untilReady } from '#shared/platform/redis.js';
import { isolatedRedis } from '../../support/isolated-redis.ts';
import { freePort } from '../../../cli/provision/free-port.ts';
import { tcpProxy } from '../../support/proxy.ts';
import { describe, expect, test } from '../../support/redis.ts';
import { eventually } from '../../support/events.ts';

/** How long a promise took, and its error's message. */
async function failure(work: Promise<unknown>): Promise<{ ms: number; message: string }> {
  const start = performance.now();
  const message = await work.then(
    () => 'no failure',
    (error: Error) => error.message,
  );
  return { ms: performance.now() - start, message };
}

const failFast = (url: string) => createRedis({ url, role: 'fail-fast', name: 'test', logger: silentLogger() });

describe('a fail-fast client', () => {
  test('fails a command at once while Redis was never there, and works once it is', async () => {
    const port = await freePort();
    const client = failFast(`redis://127.0.0.1:${port}`);
    const early = await failure(client.ping());
    expect(early.message).not.toBe('no failure');
    expect(early.ms).toBeLessThan(100);
    expect(await untilReady(client, 100)).toBe(false);

    const server = await isolatedRedis({ port });
    expect(await untilReady(client, 5_000)).toBe(true);
    expect(await client.ping()).toBe('PONG');
    await closeRedis(client);
    await server.close();
  });

  test('fails within about half a second while Redis is frozen, and works after the thaw', async () => {
    const server = await isolatedRedis();
    const client = failFast(server.url);
    await untilReady(client, 5_000);
    server.freeze();
    const frozen = await failure(client.ping());
    expect(frozen.message).toContain('timed out');
    expect(frozen.ms).toBeGreaterThan(400);
    expect(frozen.ms).toBeLessThan(1_000);
    server.thaw();
    await eventually(async () => (await client.ping()) === 'PONG');
    await closeRedis(client);
    await server.close();
  });

  test('fails while the network is cut, and works within a second of its return', async ({ redis }) => {
    const proxy = await tcpProxy({ port: Number(new URL(redis.url).port) });
    const client = failFast(`redis://127.0.0.1:${proxy.port}`);
    await untilReady(client, 5_000);
    proxy.cut();
    await eventually(async () => (await failure(client.ping())).message !== 'no failure');
    proxy.heal();
    await eventually(() => client.ping(), { timeoutMs: 1_000 });
    await closeRedis(client);
    await proxy.close();
  });
});

describe('a patient client', () => {
  test('waits through a restart and then gets its answer', async () => {
    const server = await isolatedRedis({ durable: true });
    const client = createRedis({ url: server.url, role: 'patient', name: 'test', logger: silentLogger() });
    await client.set('kept', 'yes');
    await server.kill();
    const answer = client.get('kept');
    await server.start();
    expect(await answer).toBe('yes');
    await closeRedis(client);
    await server.close();
  });
});

describe('closing', () => {
  test('ends within its deadline when Redis is frozen, and leaves nothing behind', async () => {
    const server = await isolatedRedis();
    const client = createRedis({ url: server.url, role: 'patient', name: 'test', logger: silentLogger() });
    await untilReady(client, 5_000);
    server.freeze();
    const { ms } = await failure(closeRedis(client, 200));
    expect(ms).toBeLessThan(500);
    server.thaw();
    await server.close();
  });

  test('works for a client that never connected', async () => {
    const client = failFast(`redis://127.0.0.1:${await freePort()}`);
    await closeRedis(client);
    await closeRedis(client);
    expect(client.status).toBe('end');
  });
});
