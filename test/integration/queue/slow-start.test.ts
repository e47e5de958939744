import { randomUUID } from 'node:crypto';
import { silentLogger } from '#shared/platform/logger.js';
import { closeRedis, createRedis, untilReady } from '#shared/platform/redis.js';
import { JOB_VERSION } from '#shared/queue/jobs.js';
import { planEvaluation } from '#shared/queue/plan.js';
import { createRecoveryQueue } from '#shared/queue/queue.js';
import { eventually, eventuallyPasses } from '../../support/events.ts';
import { tcpProxy, type Tap } from '../../support/proxy.ts';
import { describe, expect, test } from '../../support/redis.ts';

/** Swallows the nth time that Redis is asked about itself; the first is the client's own check. */
function swallowInfo(nth: number): Tap {
  let asked = 0;
  return (chunk, direction) => {
    const asks = direction === 'toServer' && /\binfo\b/i.test(chunk.toString('latin1'));
    if (asks) asked += 1;
    return asks && asked === nth ? 'swallow' : 'pass';
  };
}

describe('a queue whose first words to Redis got no answer in time', () => {
  test('works as soon as Redis does, and not never again', async ({ redis }) => {
    const { hostname, port } = new URL(redis.url);
    const proxy = await tcpProxy({ host: hostname, port: Number(port) }, swallowInfo(2));
    const client = createRedis({
      url: `redis://127.0.0.1:${proxy.port}`,
      role: 'fail-fast',
      name: `${redis.tag}:slow-start`,
      logger: silentLogger(),
    });
    const errors: string[] = [];
    const queue = createRecoveryQueue({
      connection: client,
      answers: () => client,
      tag: redis.tag,
      deadlineMs: 2_000,
      onError: (error) => void errors.push(error.message),
    });
    expect(await untilReady(client, 5_000)).toBe(true);
    await eventually(() => errors.includes('Command timed out'));
    proxy.cutOnce();

    const sessionId = randomUUID();
    const work = { sessionId, server: 'default', project: 'demo', generation: 1, path: '/x.jsonl', cid: 'test' };
    const planned = planEvaluation(work, 'sweep', undefined, { dueMs: 60_000, nowMs: 0 });
    await eventuallyPasses(() => queue.add(planned.name, planned.data, planned.options), { timeoutMs: 10_000 });
    expect((await queue.bull.getJob(planned.options.jobId))?.data).toMatchObject({
      v: JOB_VERSION.evaluate,
      sessionId,
    });

    await queue.close();
    await closeRedis(client);
    await proxy.close();
  });
});
