import type { RedisFixture } from '../../support/redis.ts';

/** A job that waits on the queue, as BullMQ keeps it. */
export interface WaitingJob {
  id: string;
  name: string;
  /** Epoch milliseconds. */
  dueMs: number;
  data: Record<string, unknown>;
}

/** Every job of the test's queue that no worker has taken. */
export async function waitingJobs({ client, tag }: Pick<RedisFixture, 'client' | 'tag'>): Promise<WaitingJob[]> {
  const queue = `{${tag}}:recovery`;
  const delayed = await client.zrange(`${queue}:delayed`, '0', '-1');
  const due = await client.lrange(`${queue}:wait`, 0, -1);
  return Promise.all(
    [...delayed, ...due].map(async (id) => {
      const job = await client.hgetall(`${queue}:${id}`);
      return {
        id,
        name: job['name'] ?? '',
        dueMs: Number(job['timestamp']) + Number(job['delay']),
        data: JSON.parse(job['data'] ?? '{}') as Record<string, unknown>,
      };
    }),
  );
}

/** The evaluations among them that were planned for this reason. */
export async function evaluations(redis: Pick<RedisFixture, 'client' | 'tag'>, why: string): Promise<WaitingJob[]> {
  return (await waitingJobs(redis)).filter((job) => job.name === 'evaluate' && job.data['why'] === why);
}
