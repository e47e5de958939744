import { link, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SystemWatcher } from '../../../services/watcher/file-watch.ts';
import { eventually, eventuallyPasses } from '../../support/events.ts';
import { Chat } from '../watcher/chat.ts';
import { deliver, describe, event, expect, problemOf, sessionWhen, test, turnEnded } from '../watcher/harness.ts';
import { evaluations, waitingJobs } from '../watcher/queue-jobs.ts';

/** A file watcher as on a mount that sends no events. */
const silentWatcher = (): SystemWatcher => ({ on: () => undefined, close: () => undefined });

describe('R47: file events are only an accelerator', () => {
  test('on a mount without any, the step of the armed index finds the kill', async ({ start, folders, redis }) => {
    const watcher = await start({ tuning: { openFile: silentWatcher, sweepEveryMs: 50 } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    await eventuallyPasses(async () =>
      expect(await redis.client.zscore(`{${redis.tag}}:armed`, chat.sessionId)).not.toBeNull(),
    );
    await chat.kill();
    // The 30 s step, now.
    await redis.client.zadd(`{${redis.tag}}:armed`, 0, chat.sessionId);
    await sessionWhen(watcher, chat, ({ state }) => state === 'killed');
  });

  test('a kill that is written by another name of the file is seen', async ({ start, folders }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    const other = join(folders.root, 'other-name.jsonl');
    await link(chat.path, other);
    await eventually(() => watcher.transcripts.counts().files === 1);
    await writeFile(other, `${JSON.stringify(chat.killed('b1'))}\n`, { flag: 'a' });
    await sessionWhen(watcher, chat, ({ state }) => state === 'killed');
  });

  test('of 20,000 files in the tree one is watched: the armed one', async ({ start, folders }) => {
    const crowd = join(folders.transcripts, 'p1');
    await mkdir(crowd, { recursive: true });
    for (let from = 0; from < 20_000; from += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, index) => writeFile(join(crowd, `${from + index}.jsonl`), '')));
    }
    const opened: string[] = [];
    const watcher = await start({
      tuning: {
        openFile: (path) => {
          opened.push(path);
          return silentWatcher();
        },
      },
    });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    await eventually(() => watcher.transcripts.counts().files === 1);
    expect(opened).toEqual([chat.path]);
  });
});

describe('R36: session ids at the border', () => {
  test.for(['12345', 'a:b', '{x}', 'x'.repeat(300), '../../etc/passwd', ''])(
    '%j is refused by name, and nothing is queued',
    async (sessionId, { start, folders, redis }) => {
      const watcher = await start();
      const chat = new Chat(folders.transcripts);
      await chat.begin();
      const answer = await watcher.deliver(turnEnded({ sessionId, path: chat.path }));
      expect(await problemOf(answer)).toMatchObject({ status: 422, field: 'data.sessionId' });
      expect(await waitingJobs(redis)).toEqual([]);
    },
  );
});

describe('R49: late, replayed and forged', () => {
  test('a valid body with an old signed time, and one whose time header was rewritten, change nothing', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const old = new Date(Date.now() - 6 * 60_000);
    expect(await problemOf(await deliver(watcher.url, turnEnded(chat), { signedAt: old }))).toMatchObject({
      status: 401,
      code: 'timestamp_out_of_tolerance',
    });
    const rewritten = { 'webhook-timestamp': String(Math.floor(Date.now() / 1_000)) };
    expect(
      await problemOf(await deliver(watcher.url, turnEnded(chat), { signedAt: old, headers: rewritten })),
    ).toMatchObject({
      status: 401,
      code: 'invalid_signature',
    });
    expect(await waitingJobs(redis)).toEqual([]);
    expect(await redis.client.exists(`{${redis.tag}}:s:${chat.sessionId}`)).toBe(0);
  });

  test('a delivery replayed within its five minutes is answered like the first and changes nothing', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const [id, signedAt] = ['msg_replayed', new Date()];
    const delivery = turnEnded(chat);
    const first = (await (await deliver(watcher.url, delivery, { id, signedAt })).json()) as object;
    await deliver(watcher.url, event('message.human', chat, {}, Date.now() + 1));
    const again = await deliver(watcher.url, delivery, { id, signedAt });
    expect(await again.json()).toEqual({ ...first, duplicate: true });
    expect(await redis.client.hget(`{${redis.tag}}:s:${chat.sessionId}`, 'gen')).toBe('2');
  });

  test('a turn end twenty minutes late, whose chat went on long ago: the transcript as it is now decides', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start({ env: { PADDOCK_RECOVERY_AUTODRIVE: 'true' } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await chat.kill();
    await chat.nudgeAndReply();
    const answer = await watcher.deliver(turnEnded(chat, {}, Date.now() - 20 * 60_000));
    expect(await answer.json()).toMatchObject({ armed: true });
    await eventually(() => watcher.transcripts.get(chat.sessionId)?.mark !== undefined);
    expect(await evaluations(redis, 'notice')).toEqual([]);
    await sessionWhen(watcher, chat, ({ state }) => state === 'watching');
  });
});

describe('R48 (1): the same turn end twice, 400 ms apart', () => {
  test('one job, one generation', async ({ start, folders, redis }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const delivery = turnEnded(chat, { turnId: 't1' });
    await watcher.deliver(delivery, { id: 'msg_same' });
    const fromMs = performance.now();
    await eventually(() => performance.now() - fromMs > 400);
    expect(await (await watcher.deliver(delivery, { id: 'msg_same' })).json()).toMatchObject({
      duplicate: true,
      generation: 1,
    });
    expect((await waitingJobs(redis)).map(({ name }) => name)).toEqual(['backstop']);
  });
});

describe('catch-up', () => {
  test('recoveries that were under way come before new ones', async ({ start, folders, redis }) => {
    const first = await start();
    const chats = Array.from({ length: 6 }, () => new Chat(folders.transcripts));
    for (const chat of chats) {
      await chat.begin();
      await first.deliver(turnEnded(chat));
    }
    await first.stop();
    const underWay = chats.slice(3);
    for (const [index, state] of ['nudging', 'nudged', 'unconfirmed'].entries()) {
      await redis.client.hset(`{${redis.tag}}:s:${underWay[index]?.sessionId ?? ''}`, 'st', state);
    }
    const order: string[] = [];
    const second = await start({
      tuning: {
        sweepEveryMs: 60_000,
        openFile: (path) => {
          order.push(path);
          return silentWatcher();
        },
      },
    });
    await second.background.caughtUp;
    await eventually(() => order.length === 6);
    expect(new Set(order.slice(0, 3))).toEqual(new Set(underWay.map(({ path }) => path)));
  });
});
