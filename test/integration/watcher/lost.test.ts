import { utimes } from 'node:fs/promises';
import { createPulse } from '#shared/queue/pulse.js';
import { eventually, eventuallyPasses } from '../../support/events.ts';
import { canIsolateRedis, isolatedRedis, type IsolatedRedis } from '../../support/isolated-redis.ts';
import { Chat } from './chat.ts';
import { describe, event, expect, sessionWhen, test, turnEnded, type RunningWatcher } from './harness.ts';
import { evaluations } from './queue-jobs.ts';

const isolated = test.extend<{ own: IsolatedRedis }>({
  own: async ({ leaks: _leaks }, use) => {
    // Without any persistence: whatever it confirmed is lost with the process, as with a replica that lagged.
    const own = await isolatedRedis();
    await use(own);
    await own.close();
  },
});

async function known(watcher: RunningWatcher, chat: Chat): Promise<number> {
  return (await watcher.call(`/v1/sessions/${chat.sessionId}`)).status;
}

describe.skipIf(!canIsolateRedis())('R39: Redis comes back without what it had confirmed', () => {
  isolated(
    'deliveries of the last minutes are applied again, in their order, with their jobs',
    async ({ own, start, folders }) => {
      const watcher = await start({ redisUrl: own.url });
      const [first, second] = [new Chat(folders.transcripts), new Chat(folders.transcripts)];
      await Promise.all([first.begin(), second.begin()]);
      const nowMs = Date.now();
      for (const delivery of [
        turnEnded(first, {}, nowMs),
        turnEnded(second, {}, nowMs),
        event('turn.started', second, { cause: 'human' }, nowMs + 1),
        event('session.closed', second, { reason: 'ended' }, nowMs + 2),
      ]) {
        expect((await watcher.deliver(delivery)).status).toBe(202);
      }
      await own.kill();
      await own.start();
      await eventuallyPasses(async () => expect(await known(watcher, first)).toBe(200));
      await sessionWhen(watcher, first, ({ armed, generation }) => armed && generation === 1);
      await sessionWhen(watcher, second, ({ armed, state }) => !armed && state === 'closed');
      await first.kill();
      await sessionWhen(watcher, first, ({ state }) => state === 'killed');
    },
  );

  isolated(
    'a notice that was surfaced is surfaced again, and its evaluation planned',
    async ({ own, start, folders, redis }) => {
      const watcher = await start({ redisUrl: own.url, env: { PADDOCK_RECOVERY_AUTODRIVE: 'true' } });
      const chat = new Chat(folders.transcripts);
      await chat.begin();
      await watcher.deliver(turnEnded(chat));
      await chat.kill();
      await sessionWhen(watcher, chat, ({ state }) => state === 'killed');
      await own.kill();
      await own.start();
      await eventuallyPasses(async () => expect(await known(watcher, chat)).toBe(200));
      await sessionWhen(watcher, chat, ({ state }) => state === 'killed');
      const client = redis.client.duplicate({ port: own.port, host: '127.0.0.1' });
      try {
        await eventuallyPasses(async () =>
          expect((await evaluations({ client, tag: redis.tag }, 'notice')).length).toBeGreaterThan(0),
        );
        // The settings that the evaluation needs are there too.
        expect(await client.hlen(`{${redis.tag}}:settings`)).toBe(1);
      } finally {
        client.disconnect();
      }
    },
  );

  isolated('so is one of a session that another watcher took, long ago', async ({ own, start, folders, redis }) => {
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const first = await start({ redisUrl: own.url });
    await first.deliver(turnEnded(chat));
    await first.stop();
    const watcher = await start({ redisUrl: own.url });
    await watcher.background.caughtUp;
    await chat.kill();
    await sessionWhen(watcher, chat, ({ state }) => state === 'killed');
    const client = redis.client.duplicate({ port: own.port, host: '127.0.0.1' });
    try {
      // As a replica has it that lacked the notice, and becomes master.
      await client.hdel(`{${redis.tag}}:s:${chat.sessionId}`, 'nt');
      await client.hset(`{${redis.tag}}:s:${chat.sessionId}`, 'st', 'watching');
      await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await sessionWhen(watcher, chat, ({ state, notice }) => state === 'killed' && notice !== null);
    } finally {
      client.disconnect();
    }
  });
});

describe('R49: a turn end that never came', () => {
  const RECONCILE = { reconcile: { everyMs: 50, quietMs: 300 } };

  test('a session whose turn began, and whose transcript has been written since and is quiet, is watched all the same', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start({ tuning: RECONCILE, env: { PADDOCK_RECOVERY_AUTODRIVE: 'true' } });
    const chat = new Chat(folders.transcripts);
    const nowMs = Date.now();
    // An earlier turn names the path and that the chat is no batch; an interruption by nobody: its watch is over.
    await chat.begin();
    await watcher.deliver(turnEnded(chat, {}, nowMs));
    await redis.client.hset(`{${redis.tag}}:s:${chat.sessionId}`, 'arm', '0');
    await watcher.deliver(event('message.human', chat, {}, nowMs + 1));
    await watcher.deliver(event('turn.started', chat, { cause: 'human' }, nowMs + 2));
    await chat.kill();
    const armed = await sessionWhen(watcher, chat, (session) => session.armed);
    expect(armed.trail.at(-1)?.kind === 'killed-task' || armed.trail.at(-1)?.reason === 'turn-end-lost').toBe(true);
    await sessionWhen(watcher, chat, ({ state }) => state === 'killed');
    await eventuallyPasses(async () => expect(await evaluations(redis, 'notice')).toHaveLength(1));
    // The end itself, late: newer than what is known, and applied.
    const late = await watcher.deliver(turnEnded(chat, {}, nowMs + 3));
    expect(await late.json()).toMatchObject({ armed: true, reason: 'armed' });
  });

  test('a first turn’s: found by its id, shown and not nudged, since nobody said that it is no batch', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start({ tuning: RECONCILE, env: { PADDOCK_RECOVERY_AUTODRIVE: 'true' } });
    const chat = new Chat(folders.transcripts);
    await watcher.deliver(event('turn.started', chat, { cause: 'human' }));
    await chat.begin();
    await chat.kill();
    await sessionWhen(watcher, chat, ({ state }) => state === 'killed');
    expect(await redis.client.hget(`{${redis.tag}}:s:${chat.sessionId}`, 'auto')).toBe('0');
    await eventually(async () => (await createPulse(redis.client, redis.tag).look()).overdueMs === 0);
    expect(await evaluations(redis, 'notice')).toEqual([]);
  });

  test('one whose beginning a program took that kept no index of such sessions', async ({ start, folders, redis }) => {
    const before = await start();
    const chat = new Chat(folders.transcripts);
    await before.deliver(event('turn.started', chat, { cause: 'human' }));
    await before.stop();
    expect(await redis.client.del(`{${redis.tag}}:unwatched`)).toBe(1);
    await chat.begin();
    await chat.kill();
    const watcher = await start({ tuning: RECONCILE });
    await sessionWhen(watcher, chat, ({ state }) => state === 'killed');
  });

  test.for([
    ['its transcript is still being written', { touched: true }],
    ['nothing was written since', { oldFile: true }],
    ['it was closed', { after: ['session.closed', { reason: 'ended' }] }],
    ['it is in batch mode', { before: { driveMode: 'batch' } }],
  ] as const)('no watch where %s', async ([, how], { start, folders, redis }) => {
    const watcher = await start({ tuning: RECONCILE });
    const chat = new Chat(folders.transcripts);
    const nowMs = Date.now();
    await chat.begin();
    if ('before' in how) await watcher.deliver(turnEnded(chat, how.before, nowMs));
    await watcher.deliver(event('turn.started', chat, { cause: 'human' }, nowMs + 1));
    if ('after' in how) await watcher.deliver(event(how.after[0], chat, how.after[1], nowMs + 2));
    const oldS = (nowMs - 3_600_000) / 1_000;
    if ('oldFile' in how) await utimes(chat.path, oldS, oldS);
    else if ('touched' in how) await utimes(chat.path, nowMs / 1_000 + 60, nowMs / 1_000 + 60);
    else await chat.kill();
    const looked = performance.now();
    await eventually(() => performance.now() - looked > 700);
    expect(await redis.client.hget(`{${redis.tag}}:s:${chat.sessionId}`, 'arm')).not.toBe('1');
  });
});
