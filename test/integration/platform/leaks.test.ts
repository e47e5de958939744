import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { Queue, Worker } from 'bullmq';
import { listen } from '#shared/platform/http-server.js';
import { silentLogger } from '#shared/platform/logger.js';
import { closeRedis, createRedis } from '#shared/platform/redis.js';
import { watchForLeaks } from '../../support/leaks.ts';
import { describe, expect, test } from '../../support/redis.ts';

/** Runs `body` as a test would run, and gives the sentence that the test would fail with. */
async function leakOf<T>(body: () => Promise<T> | T): Promise<{ sentence: string; left: T }> {
  const watch = watchForLeaks();
  try {
    const left = await body();
    const failure = await watch.assertNothingLeft(300).then(
      () => '',
      (error: Error) => error.message,
    );
    return { sentence: failure, left };
  } finally {
    watch.stop();
  }
}

describe('a test that leaves something behind fails and names it', () => {
  test('a BullMQ worker', async ({ redis }) => {
    const { sentence, left } = await leakOf(async () => {
      const connection = createRedis({ url: redis.url, role: 'patient', name: 'leaky-worker', logger: silentLogger() });
      const worker = new Worker('leaky', async () => undefined, { connection, prefix: `{${redis.tag}}` });
      await worker.waitUntilReady();
      return { connection, worker };
    });
    expect(sentence).toContain('Redis client "leaky-worker"');
    await left.worker.close();
    await closeRedis(left.connection);
  });

  test('a Redis client', async ({ redis }) => {
    const { sentence, left } = await leakOf(async () => {
      const client = createRedis({ url: redis.url, role: 'fail-fast', name: 'leaky-client', logger: silentLogger() });
      await new Promise((resolve) => client.once('ready', resolve));
      return client;
    });
    expect(sentence).toContain('leaky-client');
    await closeRedis(left);
  });

  test('a timer', async () => {
    const { sentence, left } = await leakOf(() => setInterval(() => undefined, 60_000));
    expect(sentence).toMatch(/timer made at .*leaks\.test\.ts/);
    clearInterval(left);
  });

  test('a server', async () => {
    const { sentence, left } = await leakOf(async () => {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      return server;
    });
    expect(sentence).toContain('server made at');
    await new Promise((resolve) => left.close(resolve));
  });

  test('a child process', async () => {
    const { sentence, left } = await leakOf(() => spawn('sleep', ['60'], { stdio: 'ignore' }));
    expect(sentence).toMatch(/child process \d+ made at .*leaks\.test\.ts/);
    const gone = new Promise((resolve) => left.once('close', resolve));
    left.kill();
    await gone;
  });

  test('and one that closes everything passes', async ({ redis }) => {
    const { sentence } = await leakOf(async () => {
      const connection = createRedis({ url: redis.url, role: 'patient', name: 'tidy', logger: silentLogger() });
      const queue = new Queue('tidy', { connection, prefix: `{${redis.tag}}` });
      const worker = new Worker('tidy', async () => 'done', { connection, prefix: `{${redis.tag}}` });
      const done = new Promise((resolve) => worker.once('completed', resolve));
      await queue.add('job', {});
      await done;
      await worker.close();
      await queue.close();
      await closeRedis(connection);
      const server = await listen((_, response) => response.end('hello'), { host: '127.0.0.1', port: 0, name: 'It' });
      await (await fetch(server.url)).text();
      await server.close();
    });
    expect(sentence).toBe('');
  });
});
