import { createPulse } from '#shared/queue/pulse.js';
import { createRedis, closeRedis } from '#shared/platform/redis.js';
import { silentLogger } from '#shared/platform/logger.js';
import { createSessionStore } from '#shared/session/redis-store.js';
import { eventually, eventuallyPasses } from '../../support/events.ts';
import { canIsolateRedis, isolatedRedis } from '../../support/isolated-redis.ts';
import { tcpProxy, type Tap, type TcpProxy } from '../../support/proxy.ts';
import { SessionApiStandIn } from '../../support/session-api-stand-in.ts';
import { Chat } from '../session/support.ts';

import { afterAll } from '../../support/redis.ts';
import { Bench, DEBOUNCE_MS, describe, expect, test as benchTest } from '../worker/support.ts';

const figures: string[] = [];
afterAll(() => {
  if (figures.length > 0) console.error(figures.join('\n'));
});

/** A bench whose worker reaches Redis through a network that can break. */
const test = benchTest.extend<{ proxy: TcpProxy; bench: Bench }>({
  proxy: async ({ redis }, use) => {
    const proxy = await tcpProxy({ port: Number(new URL(redis.url).port) });
    await use(proxy);
    await proxy.close();
  },
  // After the proxy, so that it ends before it.
  bench: async ({ redis, proxy: _proxy }, use) => {
    const bench = new Bench(redis, await SessionApiStandIn.start());
    await use(bench);
    await bench.close();
  },
});
const through = (proxy: TcpProxy): Record<string, string> => ({ REDIS_URL: `redis://127.0.0.1:${proxy.port}` });
const WITHIN_A_MINUTE = { timeoutMs: 60_000 };

describe('R38, R39: connections of a worker that go dead without a word', { timeout: 90_000 }, () => {
  test('all of them at once, with work due: it goes on within a minute, without a restart', async ({
    bench,
    proxy,
  }) => {
    const hung = await bench.hungChat();
    const service = await bench.worker(through(proxy));
    const before = service.worker.bull;
    // Idle in its blocking read, as the reports have it.
    await eventually(() => proxy.open >= 3);
    proxy.deaden();
    const fromMs = performance.now();
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1, WITHIN_A_MINUTE);
    figures.push(`nudged ${Math.round(performance.now() - fromMs)} ms after every connection of the worker went dead`);
    expect(service.worker.bull).toBe(before);
    await eventually(() => bench.idle(), WITHIN_A_MINUTE);
    expect(bench.api.received.map(({ outcome }) => outcome)).toEqual(['started']);
  });

  test('in the middle of a recovery: nudged once', async ({ bench, proxy }) => {
    const hung = await bench.hungChat();
    const service = await bench.worker(through(proxy));
    const sending = service.parts.store.sending.bind(service.parts.store);
    service.parts.store.sending = async (...args) => {
      service.parts.store.sending = sending;
      proxy.deaden();
      return sending(...args);
    };
    await bench.look(hung);
    const fromMs = performance.now();
    await eventually(() => bench.api.turns(hung.chat.id).length === 1, WITHIN_A_MINUTE);
    figures.push(`nudged ${Math.round(performance.now() - fromMs)} ms after they went dead between claim and call`);
    await eventually(() => bench.idle(), WITHIN_A_MINUTE);
    expect(bench.api.turns(hung.chat.id)).toHaveLength(1);
    expect((await hung.chat.record()).tries).toBe(1);
  });

  test('frozen for a while, then thawed, with a delayed job that came due meanwhile: done once', async ({
    bench,
    proxy,
  }) => {
    const hung = await bench.hungChat();
    await bench.worker(through(proxy));
    const pulse = createPulse(bench.redis.client, bench.redis.tag);
    proxy.freeze();
    await bench.look(hung);
    await eventually(async () => (await pulse.look()).waiting === 1);
    const frozenAt = performance.now();
    await eventually(() => performance.now() - frozenAt > 3_000);
    expect(bench.api.received).toEqual([]);
    proxy.heal();
    await eventually(() => bench.api.turns(hung.chat.id).length === 1, WITHIN_A_MINUTE);
    await eventually(() => bench.idle(), WITHIN_A_MINUTE);
    expect(bench.api.turns(hung.chat.id)).toHaveLength(1);
  });
});

describe.skipIf(!canIsolateRedis())('R39: Redis is away while jobs come due', { timeout: 90_000 }, () => {
  benchTest('stopped for ten seconds, started again: the worker goes on by itself, nudged once', async ({ redis }) => {
    const own = await isolatedRedis({ durable: true });
    const client = redis.client.duplicate({ port: own.port });
    client.on('error', () => undefined);
    const bench = new Bench({ url: own.url, tag: redis.tag, client }, await SessionApiStandIn.start());
    try {
      const hung = await bench.hungChat({ debounceMs: 4_000 });
      await bench.worker();
      await bench.look(hung);
      await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('killed'));
      await own.stop();
      const stoppedAt = performance.now();
      await eventually(() => performance.now() - stoppedAt > 10_000, { timeoutMs: 15_000 });
      await own.start();
      const fromMs = performance.now();
      await eventually(() => bench.api.turns(hung.chat.id).length === 1, WITHIN_A_MINUTE);
      figures.push(`nudged ${Math.round(performance.now() - fromMs)} ms after Redis was back from a stop of 10 s`);
      await eventually(() => bench.idle(), WITHIN_A_MINUTE);
      expect(bench.api.turns(hung.chat.id)).toHaveLength(1);
    } finally {
      await bench.close();
      client.disconnect();
      await own.close();
    }
  });
});

describe('R39: a client of the watcher whose socket is dead', () => {
  test('fails each command within its half second, and has a new connection within three', async ({ proxy, redis }) => {
    const client = createRedis({
      url: `redis://127.0.0.1:${proxy.port}`,
      role: 'fail-fast',
      name: 'dead',
      logger: silentLogger(),
    });
    await eventually(() => client.status === 'ready');
    proxy.deaden();
    const fromMs = performance.now();
    await expect(client.get(`{${redis.tag}}:x`)).rejects.toThrow(/timed out/);
    await eventuallyPasses(async () => expect(await client.get(`{${redis.tag}}:x`)).toBeNull());
    figures.push(
      `a fail-fast client was served again ${Math.round(performance.now() - fromMs)} ms after its socket died`,
    );
    expect(performance.now() - fromMs).toBeLessThan(4_000);
    await closeRedis(client);
  });
});

describe('R44: the connection is cut after the script ran and before its answer', () => {
  benchTest('ioredis sends it again, and it counts once: claim, settlement, delivery', async ({ redis }) => {
    const cutNext = { armed: false, cuts: 0 };
    const tap: Tap = (_chunk, direction) => {
      if (!cutNext.armed || direction !== 'toClient') return 'pass';
      cutNext.armed = false;
      cutNext.cuts += 1;
      return 'drop';
    };
    const proxy = await tcpProxy({ port: Number(new URL(redis.url).port) }, tap);
    const client = createRedis({
      url: `redis://127.0.0.1:${proxy.port}`,
      role: 'patient',
      name: 'r44',
      logger: silentLogger(),
    });
    const store = createSessionStore({ redis: client, tag: redis.tag, sessionTtlMs: 60_000, markTtlMs: 60_000 });
    try {
      await store.publishSettings('default', 'demo', {
        values: {
          surfaceKilledTask: true,
          autoReDrive: true,
          debounceMs: DEBOUNCE_MS,
          maxRetries: 2,
          limboTimeoutMs: 0,
        },
        sources: {
          surfaceKilledTask: 'default',
          autoReDrive: 'default',
          debounceMs: 'default',
          maxRetries: 'default',
          limboTimeoutMs: 'default',
        },
      });
      const chat = new Chat(store);
      const cut = <T>(work: () => Promise<T>): Promise<T> => {
        cutNext.armed = true;
        return work();
      };
      expect(await cut(() => chat.turnEnded(0))).toMatchObject({ armed: true, generation: 1 });
      await chat.notice();
      const claim = await cut(() => chat.claim());
      if (!claim.ok) throw new Error(claim.reason);
      expect((await chat.record()).tries).toBe(1);
      const ref = { sessionId: chat.id, attemptId: claim.attemptId, owner: 'worker-1' };
      expect(await cut(() => store.sending(ref, 10_000))).toEqual({ ok: true });
      await cut(() => store.settleNudge(ref, { outcome: 'accepted', detail: undefined, turnId: 't' }));
      expect(cutNext.cuts).toBe(4);
      const record = await chat.record();
      expect(record).toMatchObject({ tries: 1, generation: 1, state: 'nudged' });
      expect(await redis.client.zcard(`{${redis.tag}}:sent`)).toBe(1);
      const kinds = (await store.trail(chat.id)).map(({ kind }) => kind);
      expect(kinds).toEqual(['turn-ended', 'killed-task', 'claimed', 'sending', 'nudged']);
    } finally {
      await closeRedis(client);
      await proxy.close();
    }
  });
});
