import { setTimeout as sleep } from 'node:timers/promises';
import { Queue } from 'bullmq';
import { QUEUE_NAME } from '#shared/queue/jobs.js';
import { planEvaluation } from '#shared/queue/plan.js';
import { createRecoveryQueue, queuePrefix } from '#shared/queue/queue.js';
import { atLeast, told, type Bench, type BenchContext } from '../kit/bench.ts';
import type { BenchChat } from '../kit/chats.ts';
import { cpuSince } from '../kit/cpu.ts';
import { PROJECT } from '../kit/deliveries.ts';
import { Site, TAG } from '../kit/site.ts';
import { startStandIn } from '../kit/stand-in.ts';
import { spreadOf } from '../kit/statistics.ts';

/** Bar 8: a worker over clean evaluations, 50 at once, against one that does nothing with the same jobs. */

const CONCURRENCY = 50;
const CHATS = 1_000;

interface Drained {
  perSecond: number;
  workerUs: number;
  redisUs: number;
}

export const evaluations: Bench = {
  name: 'evaluations',
  about: 'clean evaluations a second, against a worker that does nothing',
  async run({ root, scale, say }: BenchContext) {
    const count = scale.quick ? 4_000 : 20_000;
    const site = await Site.start({ root, workers: 0, watcher: false });
    try {
      const work = await createWork(site);
      const ours: Drained[] = [];
      const theirs: Drained[] = [];
      for (let round = 0; round < scale.rounds; round += 1) {
        ours.push(await withOurs(site, work, count));
        theirs.push(await withNoOp(site, work, count));
        say(`evaluations ${round + 1}: ${brief(ours.at(-1))} against ${brief(theirs.at(-1))}`);
      }
      await work.close();
      const ratio = (key: keyof Drained) =>
        spreadOf(ours.map((mine, n) => mine[key] / (theirs[n]?.[key] ?? Number.NaN)));
      const against = '× a worker that does nothing';
      return {
        rows: [
          atLeast(0.8, { bar: 8, what: 'clean evaluations a second, 50 at once', against, figure: ratio('perSecond') }),
          told({ what: 'worker CPU of a clean evaluation', against, figure: ratio('workerUs') }),
        ],
        detail: { ours, noOp: theirs },
      };
    } finally {
      await site.close();
    }
  },
};

const brief = (one: Drained | undefined): string =>
  one === undefined ? '' : `${one.perSecond.toFixed(0)}/s, ${one.workerUs.toFixed(0)} + ${one.redisUs.toFixed(0)} µs`;

export interface Work {
  fill(count: number): Promise<void>;
  /** Lets the workers go on and resolves once everything is done. */
  drain(): Promise<{ seconds: number }>;
  close(): Promise<void>;
}

/** The queue, filled with first evaluations of clean chats while it is paused. */
export async function createWork(site: Site): Promise<Work> {
  const chats = site.makeChats(CHATS);
  const connection = site.redis.client;
  const onError = (error: Error): void => console.error(error);
  const queue = createRecoveryQueue({ connection, answers: () => connection, tag: TAG, deadlineMs: 60_000, onError });
  const bull = new Queue(QUEUE_NAME, { connection, prefix: queuePrefix(TAG) });
  let made = 0;
  const plan = (chat: BenchChat) => {
    made += 1;
    const { sessionId, path } = chat;
    const work = { sessionId, path, server: 'default', project: PROJECT, generation: made, cid: `bench-${made}` };
    return planEvaluation(work, 'sweep', undefined, { dueMs: 0, nowMs: 0 });
  };
  return {
    async fill(count) {
      await bull.pause();
      for (let filled = 0; filled < count; filled += CHATS)
        await queue.addMany(chats.slice(0, count - filled).map(plan));
    },
    async drain() {
      const startMs = performance.now();
      await bull.resume();
      for (;;) {
        const { waiting, active } = await bull.getJobCounts('waiting', 'active');
        if (waiting === 0 && active === 0) return { seconds: (performance.now() - startMs) / 1_000 };
        await sleep(20);
      }
    },
    async close() {
      await queue.close();
      await bull.close();
    },
  };
}

async function drained(site: Site, work: Work, count: number, pids: number[]): Promise<Drained> {
  // What starting cost has been spent by now; a first batch warms the code up.
  await work.fill(1_000);
  await work.drain();
  await work.fill(count);
  const used = cpuSince({ worker: pids, redis: [site.redis.pid()] });
  const { seconds } = await work.drain();
  const cpu = used();
  return {
    perSecond: count / seconds,
    workerUs: (cpu.worker * 1_000) / count,
    redisUs: (cpu.redis * 1_000) / count,
  };
}

async function withOurs(site: Site, work: Work, count: number): Promise<Drained> {
  const worker = await site.startWorker();
  const result = await drained(site, work, count, [worker.pid]);
  await worker.stop();
  return result;
}

async function withNoOp(site: Site, work: Work, count: number): Promise<Drained> {
  const redisPort = Number(new URL(site.redis.url).port);
  const worker = await startStandIn('no-op-worker', { redisPort, tag: TAG, concurrency: CONCURRENCY });
  const result = await drained(site, work, count, [worker.pid]);
  await worker.stop();
  return result;
}
