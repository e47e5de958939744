import { Redis } from 'ioredis';
import { canIsolateRedis, isolatedRedis, type IsolatedRedis } from '../../support/isolated-redis.ts';
import { eventually } from '../../support/events.ts';
import { freePort } from '../../../cli/provision/free-port.ts';
import { Chat } from './chat.ts';
import { describe, event, expect, problemOf, test, turnEnded, type RunningWatcher } from './harness.ts';

const isolated = test.extend<{ own: IsolatedRedis }>({
  own: async ({ folders: _folders }, use) => {
    const own = await isolatedRedis({ durable: true });
    await use(own);
    await own.close();
  },
});

/** The refusal, and how long it took. */
async function refusal(watcher: RunningWatcher, chat: Chat) {
  const startedAt = performance.now();
  const answer = await watcher.deliver(turnEnded(chat));
  const tookMs = performance.now() - startedAt;
  const retryAfter = answer.headers.get('retry-after');
  return { ...(await problemOf(answer)), retryAfter, tookMs };
}

/** The first 202. A disk that is slow to sync (durable Redis, a busy machine) may put it off for a while. */
function taken(deliver: () => Promise<Response>): Promise<Response> {
  return eventually(
    async () => {
      const answer = await deliver();
      return answer.status === 202 ? answer : undefined;
    },
    { timeoutMs: 20_000, what: 'the delivery to be taken' },
  );
}

const UNAVAILABLE = { status: 503, code: 'redis_unavailable', field: undefined, retryAfter: '1' };

describe.skipIf(!canIsolateRedis())('R42: while Redis is away', () => {
  isolated(
    'killed: 503 with Retry-After within about a second, then the same delivery is taken without a restart',
    async ({ own, start, folders }) => {
      const watcher = await start({ redisUrl: own.url });
      const chat = new Chat(folders.transcripts);
      await chat.begin();
      await own.kill();

      const { tookMs, ...answer } = await refusal(watcher, chat);
      expect(answer).toEqual(UNAVAILABLE);
      expect(tookMs).toBeLessThan(1_300);
      expect((await fetch(`${watcher.url}/readyz`)).status).toBe(503);
      expect((await watcher.call('/v1/sessions')).status).toBe(503);

      await own.start();
      await taken(() => watcher.deliver(turnEnded(chat)));
      expect((await fetch(`${watcher.url}/readyz`)).status).toBe(200);
    },
  );

  isolated(
    'frozen: 503 within about a second; once it thaws the retry is taken and there is one job',
    async ({ own, start, folders, redis }) => {
      const watcher = await start({ redisUrl: own.url });
      const chat = new Chat(folders.transcripts);
      await chat.begin();
      const delivery = turnEnded(chat);
      own.freeze();

      const startedAt = performance.now();
      const answers = await Promise.all([1, 2, 3].map(() => watcher.deliver(delivery, { id: 'msg_frozen' })));
      const tookMs = performance.now() - startedAt;
      expect(answers.map((answer) => answer.status)).toEqual([503, 503, 503]);
      expect(tookMs).toBeLessThan(1_300);

      own.thaw();
      const answer = await taken(() => watcher.deliver(delivery, { id: 'msg_frozen' }));
      expect(await answer.json()).toMatchObject({ armed: true, generation: 1 });
      const client = new Redis(own.url);
      expect(await client.zcard(`{${redis.tag}}:recovery:delayed`)).toBe(1);
      client.disconnect();
    },
  );

  isolated(
    'never there since the start: 503, and a Redis that comes later is used',
    async ({ start, folders, own }) => {
      await own.stop();
      const watcher = await start({ redisUrl: own.url, connectWithinMs: 10 });
      const chat = new Chat(folders.transcripts);
      await chat.begin();
      const { tookMs, ...answer } = await refusal(watcher, chat);
      expect(answer).toEqual(UNAVAILABLE);
      expect(tookMs).toBeLessThan(1_300);

      await own.start();
      await taken(() => watcher.deliver(turnEnded(chat)));
      await watcher.background.caughtUp;
    },
  );

  isolated('nothing at its address at all: the same', async ({ start, folders, own: _own }) => {
    const watcher = await start({ redisUrl: `redis://127.0.0.1:${await freePort()}`, connectWithinMs: 10 });
    const { tookMs, ...answer } = await refusal(watcher, new Chat(folders.transcripts));
    expect(answer).toEqual(UNAVAILABLE);
    expect(tookMs).toBeLessThan(1_300);
    for (const path of ['/v1/sessions', '/v1/pause', '/admin/queues/api/queues']) {
      expect({ path, status: (await watcher.call(path)).status }).toEqual({ path, status: 503 });
    }
  });

  isolated.for([
    ['read-only', ['CONFIG', 'SET', 'min-replicas-to-write', '1'], ['CONFIG', 'SET', 'min-replicas-to-write', '0']],
    ['full', ['CONFIG', 'SET', 'maxmemory', '1mb'], ['CONFIG', 'SET', 'maxmemory', '0']],
    ['a replica', ['REPLICAOF', '127.0.0.1', '1'], ['REPLICAOF', 'NO', 'ONE']],
  ] as const)(
    '%s: 503, nothing recorded, taken once it is well again',
    async ([, break_, mend], { own, start, folders }) => {
      const watcher = await start({ redisUrl: own.url });
      const chat = new Chat(folders.transcripts);
      await chat.begin();
      const client = new Redis(own.url);
      await client.call(break_[0], ...break_.slice(1));

      const { tookMs, ...answer } = await refusal(watcher, chat);
      expect(answer).toEqual(UNAVAILABLE);
      expect(tookMs).toBeLessThan(1_300);

      await client.call(mend[0], ...mend.slice(1));
      client.disconnect();
      await taken(() => watcher.deliver(turnEnded(chat)));
      expect((await watcher.store.find(chat.sessionId))?.generation).toBe(1);
    },
  );

  isolated(
    'what a change of the file meant is not lost: it is done once Redis is back',
    async ({ own, start, folders }) => {
      const watcher = await start({ redisUrl: own.url });
      const chat = new Chat(folders.transcripts);
      await chat.begin();
      await watcher.deliver(turnEnded(chat));
      await own.stop();
      await chat.kill();
      await eventually(() => watcher.transcripts.counts().owed === 1, { what: 'the look to be owed' });

      await own.start();
      await eventually(async () => (await watcher.store.find(chat.sessionId))?.state === 'killed');
      expect((await watcher.deliver(event('message.human', chat))).status).toBe(202);
    },
  );
});
