import { Queue } from 'bullmq';
import { atMost, told, type Bench, type BenchContext } from '../kit/bench.ts';
import type { BenchChat } from '../kit/chats.ts';
import { turnEnd } from '../kit/deliveries.ts';
import { startRedis, type BenchRedis } from '../kit/redis.ts';
import { Site, TAG } from '../kit/site.ts';
import { spreadOf } from '../kit/statistics.ts';

/**
 * Bar 9: what an armed session costs Redis, with its record, its delivery's mark, its places in the indexes, its first job
 * and its trail, against one delayed job that says which session it is for. Paths are as long as real ones.
 */

interface Measured {
  bytes: number;
  kinds: Record<string, number>;
}

export const memory: Bench = {
  name: 'memory',
  about: 'Redis memory of an armed session, against one bare delayed job',
  async run({ root, scale, say }: BenchContext) {
    const count = Math.min(scale.chats, 2_000);
    const ours: Measured[] = [];
    const theirs: number[] = [];
    // Memory hardly varies: each round is a Redis of its own all the same.
    for (let round = 0; round < Math.min(scale.rounds, 5); round += 1) {
      ours.push(await armed(root, count));
      theirs.push(await bareJobs(count));
      say(`memory ${round + 1}: ${ours.at(-1)?.bytes.toFixed(0)} B against ${theirs.at(-1)?.toFixed(0)} B`);
    }
    const job = (n: number): number => theirs[n] ?? Number.NaN;
    const against = '× one bare delayed job';
    const trail = ({ kinds }: Measured): number => (kinds['t'] ?? 0) + (kinds['trail'] ?? 0);
    return {
      rows: [
        atMost(2.5, {
          bar: 9,
          what: 'Redis memory of an armed session: record, mark, indexes, job',
          against,
          figure: spreadOf(ours.map((one, n) => (one.bytes - trail(one)) / job(n))),
        }),
        told({
          what: 'the same with its first lines in the trail',
          against,
          figure: spreadOf(ours.map(({ bytes }, n) => bytes / job(n))),
        }),
        told({ what: 'one bare delayed job', against: 'bytes', figure: spreadOf(theirs) }),
      ],
      detail: { ours, bareJob: theirs },
    };
  },
};

async function armed(root: string, count: number): Promise<Measured> {
  const site = await Site.start({ root, workers: 0 });
  try {
    const [first, ...chats] = site.makeChats(count + 1, 0);
    // What there is once, whatever the number of sessions.
    if (first !== undefined) await site.sender.send(turnEnd(first, 1));
    const before = await site.redis.usedMemory();
    await Promise.all(chats.map((chat) => site.sender.send(turnEnd(chat, 1))));
    const bytes = ((await site.redis.usedMemory()) - before) / count;
    return { bytes, kinds: await kindsOf(site.redis, chats, count) };
  } finally {
    await site.close();
  }
}

/** Bytes a session of each kind of key, as Redis itself tells; a key's place in the table is not in them. */
async function kindsOf(
  { client }: BenchRedis,
  chats: readonly BenchChat[],
  count: number,
): Promise<Record<string, number>> {
  const root = `{${TAG}}:`;
  const of = (key: string): Promise<number | null> => client.memory('USAGE', key, 'SAMPLES', 0);
  const [{ sessionId } = { sessionId: '' }] = chats;
  const marks = await client.keys(`${root}d:*`);
  const jobs = await client.keys(`${root}recovery:evaluate-*`);
  const found = {
    s: await of(`${root}s:${sessionId}`),
    t: await of(`${root}t:${sessionId}`),
    mark: await of(marks[0] ?? ''),
    job: await of(jobs[0] ?? ''),
    trail: ((await of(`${root}trail`)) ?? 0) / count,
    armed: ((await of(`${root}armed`)) ?? 0) / count,
    sessions: ((await of(`${root}sessions`)) ?? 0) / count,
    delayed: ((await of(`${root}recovery:delayed`)) ?? 0) / count,
    events: ((await of(`${root}recovery:events`)) ?? 0) / count,
  };
  return Object.fromEntries(Object.entries(found).map(([kind, bytes]) => [kind, bytes ?? 0]));
}

async function bareJobs(count: number): Promise<number> {
  const redis = await startRedis();
  const queue = new Queue('bare', { connection: redis.client });
  try {
    const add = (n: number) => {
      const sessionId = `a0000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
      const path = `/home/someone/.claude/projects/-home-someone-1/${sessionId}.jsonl`;
      const data = { sessionId, path, server: 'default', project: 'bench', generation: 1, debounceMs: 5_000 };
      return queue.add('evaluate', data, { delay: 3_600_000, jobId: `evaluate-${sessionId}-1`, attempts: 3 });
    };
    await add(0);
    const before = await redis.usedMemory();
    for (let n = 1; n <= count; n += 1) await add(n);
    return ((await redis.usedMemory()) - before) / count;
  } finally {
    await queue.close();
    await redis.close();
  }
}
