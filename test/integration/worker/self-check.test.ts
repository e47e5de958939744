import { silentLogger } from '#shared/platform/logger.js';
import { createPulse } from '#shared/queue/pulse.js';
import { eventually, eventuallyPasses, latch } from '../../support/events.ts';
import { startSelfCheck } from '../../../services/recovery-worker/self-check.ts';
import { describe, expect, test } from './support.ts';

const TUNING = { everyMs: 50, deafAfterMs: 400 };

describe('R38: a worker that does not hear its queue', () => {
  test('is replaced inside the process, and the overdue job is done', async ({ bench }) => {
    const hung = await bench.hungChat();
    const service = await bench.worker({}, { tuning: TUNING });
    const before = service.worker.bull;
    // Connected, healthy by every event that it has, and taking nothing: what the reports describe.
    await before.pause(true);
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    expect(service.worker.bull).not.toBe(before);
    await eventually(() => bench.idle());
    expect(bench.api.received.map(({ outcome }) => outcome)).toEqual(['started']);
  });

  test('is told as hopeless once two replacements have not helped, and is not counted as alive meanwhile', async ({
    bench,
    redis,
  }) => {
    const pulse = createPulse(redis.client, redis.tag);
    const hopeless = latch();
    const seen: string[][] = [];
    await bench.look(await bench.hungChat());
    const check = startSelfCheck({
      pulse,
      queue: bench.queue,
      worker: {
        concurrency: 5,
        active: () => 0,
        onTaken: () => undefined,
        restart: () => void pulse.look().then(({ workers }) => seen.push(workers)),
      },
      logger: silentLogger(),
      onHopeless: () => hopeless.open(),
      tuning: { everyMs: 20, deafAfterMs: 200 },
    });
    await eventuallyPasses(async () => expect((await pulse.look()).workers).toEqual([check.id]));
    await hopeless.opened;
    expect(seen).toHaveLength(2);
    expect((await pulse.look()).workers).toEqual([]);
    await check.stop();
  });

  test('one that is idle, or full, is left alone', async ({ bench }) => {
    const service = await bench.worker({ WORKER_CONCURRENCY: '1' }, { tuning: { everyMs: 20, deafAfterMs: 60 } });
    const before = service.worker.bull;
    const hung = await bench.hungChat();
    bench.api.fail('GET', { kind: 'hang' }); // for SESSION_API_TIMEOUT_MS, far longer than `deafAfterMs`
    await bench.look(hung);
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    expect(service.worker.bull).toBe(before);
  });
});

describe('workers show themselves', () => {
  test('each once, with host and process; one that ends is gone at once', async ({ bench, redis }) => {
    const pulse = createPulse(redis.client, redis.tag);
    const [first, second] = await Promise.all([bench.worker(), bench.worker()]);
    await eventuallyPasses(async () =>
      expect(new Set((await pulse.look()).workers)).toEqual(new Set([first.id, second.id])),
    );
    expect(first.id).toContain(`:${process.pid}:`);
    await first.close();
    expect((await pulse.look()).workers).toEqual([second.id]);
  });

  test('one that stops showing itself is missed once its time is over, and its key expires', async ({ redis }) => {
    const pulse = createPulse(redis.client, redis.tag);
    await pulse.beat('host:1:x', 150);
    expect((await pulse.look()).workers).toEqual(['host:1:x']);
    expect(await redis.client.pttl(`{${redis.tag}}:workers`)).toBeGreaterThan(0);
    await eventuallyPasses(async () => expect((await pulse.look()).workers).toEqual([]));
  });
});

describe('the queue’s pulse', () => {
  test('an often deferred job is overdue by its due moment, not by its age', async ({ bench, redis }) => {
    const pulse = createPulse(redis.client, redis.tag);
    const hung = await bench.hungChat();
    await bench.store.pause('operator');
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.trail(hung)).toContain('deferred: paused'));
    await eventually(async () => (await bench.queue.bull.getDelayedCount()) === 1);
    expect(await pulse.look()).toMatchObject({ overdue: 0, overdueMs: 0, waiting: 0, paused: false });
  });
});
