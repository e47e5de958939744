import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { QUEUE_NAME } from '#shared/queue/jobs.js';
import { queuePrefix } from '#shared/queue/queue.js';
import { sessionKeys } from '#shared/session/keys.js';

/** A job that is overdue by more than this lies still. */
const OVERDUE_MS = 5_000;

/** What a run leaves behind in Redis that should not be there. Not the judge's business: it looks at Redis. */
export async function leftovers(port: number, tag: string, overChats: ReadonlySet<string>): Promise<string[]> {
  const redis = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null });
  const queue = new Queue(QUEUE_NAME, { connection: redis, prefix: queuePrefix(tag) });
  try {
    const [keys, jobs, armed] = await Promise.all([
      withoutExpiry(redis, tag),
      stuckJobs(queue),
      redis.zrange(sessionKeys(tag).armed, '0', '-1'),
    ]);
    const over = armed.filter((id) => overChats.has(id)).map((id) => `armed entry of a closed chat: ${id}`);
    return [...keys, ...jobs, ...over];
  } finally {
    await queue.close();
    redis.disconnect();
  }
}

/** Our own keys; BullMQ bounds its own by count. The off switch alone never expires. */
async function withoutExpiry(redis: Redis, tag: string): Promise<string[]> {
  const found: string[] = [];
  const queueKeys = `{${tag}}:${QUEUE_NAME}:`;
  for await (const batch of redis.scanStream({ match: `{${tag}}:*`, count: 1_000 })) {
    const keys = (batch as string[]).filter((key) => !key.startsWith(queueKeys) && key !== sessionKeys(tag).pause);
    const lives = await Promise.all(keys.map((key) => redis.pttl(key)));
    found.push(...keys.filter((_, index) => lives[index] === -1).map((key) => `key without expiry: ${key}`));
  }
  return found;
}

async function stuckJobs(queue: Queue): Promise<string[]> {
  const [failed, active, waiting, delayed] = await Promise.all([
    queue.getFailed(),
    queue.getActive(),
    queue.getWaiting(),
    queue.getDelayed(),
  ]);
  const nowMs = Date.now();
  const overdue = delayed.filter((job) => nowMs - (job.timestamp + job.delay) > OVERDUE_MS);
  return [
    ...failed.map((job) => `failed job: ${job.id}: ${job.failedReason}`),
    ...[...active, ...waiting].map((job) => `job not done: ${job.id}`),
    ...overdue.map((job) => `overdue job: ${job.id}`),
  ];
}

/** Takes the jobs of earlier turn ends off the queue. */
export async function withoutBackstops(port: number, tag: string): Promise<void> {
  const redis = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: null });
  const queue = new Queue(QUEUE_NAME, { connection: redis, prefix: queuePrefix(tag) });
  try {
    const jobs = await queue.getDelayed();
    await Promise.all(jobs.filter(({ name }) => name === 'backstop').map((job) => job.remove()));
  } finally {
    await queue.close();
    redis.disconnect();
  }
}
