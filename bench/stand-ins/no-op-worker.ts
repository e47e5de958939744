import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { QUEUE_NAME } from '#shared/queue/jobs.js';
import { queuePrefix } from '#shared/queue/queue.js';
import { answer } from '../kit/stand-in.ts';

/** A worker on the same queue that does nothing with its jobs. */
answer(async (question: { redisPort: number; tag: string; concurrency: number }) => {
  const connection = new Redis(question.redisPort, '127.0.0.1', { maxRetriesPerRequest: null });
  const worker = new Worker(QUEUE_NAME, () => Promise.resolve('clean'), {
    connection,
    prefix: queuePrefix(question.tag),
    concurrency: question.concurrency,
    lockDuration: 10_000,
    stalledInterval: 5_000,
  });
  worker.on('error', (error) => console.error(error));
  await worker.waitUntilReady();
});
