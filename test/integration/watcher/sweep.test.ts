import { appendFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../../support/events.ts';
import { Chat } from './chat.ts';
import { describe, event, expect, sessionWhen, test, turnEnded, vi } from './harness.ts';
import { evaluations } from './queue-jobs.ts';

const AUTO = { PADDOCK_RECOVERY_AUTODRIVE: '1' };
const NEVER = { sweepEveryMs: 3_600_000 };

describe('the sweep', () => {
  test('a due step is taken, looked at and put off to the next step', async ({ start, folders, redis }) => {
    const watcher = await start({ tuning: NEVER });
    await watcher.background.caughtUp;
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    const armedMs = (await watcher.store.find(chat.sessionId))?.armedMs ?? 0;
    await redis.client.zadd(`{${redis.tag}}:armed`, 0, chat.sessionId);

    await watcher.background.sweepNow();

    const next = Number(await redis.client.zscore(`{${redis.tag}}:armed`, chat.sessionId));
    expect(next - armedMs).toBe(10_000);
  });

  test('a session that cannot be looked at holds up no other', async ({ start, folders, redis }) => {
    const watcher = await start({ tuning: NEVER });
    await watcher.background.caughtUp;
    const [bad, good] = [new Chat(folders.transcripts), new Chat(folders.transcripts)];
    for (const [chat, project] of [
      [bad, 'bad'],
      [good, 'good'],
    ] as const) {
      await chat.begin();
      await watcher.deliver(turnEnded(chat, { project }));
      await redis.client.zadd(`{${redis.tag}}:armed`, 0, chat.sessionId);
    }
    const publish = watcher.store.publishSettings.bind(watcher.store);
    vi.spyOn(watcher.store, 'publishSettings').mockImplementation((server, project, settings) =>
      project === 'bad' ? Promise.reject(new TypeError('a fault of ours')) : publish(server, project, settings),
    );

    await watcher.background.sweepNow();

    const armedMs = (await watcher.store.find(good.sessionId))?.armedMs ?? 0;
    expect(Number(await redis.client.zscore(`{${redis.tag}}:armed`, good.sessionId)) - armedMs).toBe(10_000);
    expect(await watcher.metrics.registry.metrics()).toContain('background_failures_total{part="sweep"} 1');
  });

  test('a watch past its greatest age ends', async ({ start, folders, redis }) => {
    const watcher = await start({ env: { WATCH_MAX_AGE: '1ms' } });
    await watcher.background.caughtUp;
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    await redis.client.zadd(`{${redis.tag}}:armed`, 0, chat.sessionId);

    const session = await sessionWhen(watcher, chat, (body) => !body.armed);

    expect(session).toMatchObject({ state: 'idle', reason: 'watch-too-old' });
    expect(watcher.transcripts.counts().sessions).toBe(0);
  });

  test('a standing notice whose job was lost is planned again, each time under an id of its own', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start({ env: AUTO, tuning: NEVER });
    await watcher.background.caughtUp;
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    await chat.kill();
    await sessionWhen(watcher, chat, (body) => body.state === 'killed');
    await eventually(async () => (await evaluations(redis, 'notice')).length === 1);

    for (const round of [1, 2]) {
      // Past the debounce, so that each is due at its own moment.
      const record = JSON.parse(String(await redis.client.hget(`{${redis.tag}}:s:${chat.sessionId}`, 'nt'))) as object;
      await redis.client.hset(`{${redis.tag}}:s:${chat.sessionId}`, 'nt', JSON.stringify({ ...record, seen: 1 }));
      await redis.client.zadd(`{${redis.tag}}:armed`, 0, chat.sessionId);
      const standing = watcher.transcripts.get(chat.sessionId)?.standing;
      if (standing !== undefined) standing.noticeSeenMs = 1;
      await watcher.background.sweepNow();
      const again = await evaluations(redis, 'sweep');
      expect(new Set(again.map((job) => job.id)).size).toBe(round);
    }
  });

  test('a transcript that has moved under the roots is found by its id', async ({ start, folders, redis }) => {
    const watcher = await start({ tuning: NEVER });
    await watcher.background.caughtUp;
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    await eventually(() => watcher.transcripts.get(chat.sessionId)?.mark !== undefined);
    const moved = new Chat(folders.transcripts, 'p2');
    await moved.begin();
    const target = join(folders.transcripts, 'p2', `${chat.sessionId}.jsonl`);
    await rename(chat.path, target);
    await appendFile(target, `${JSON.stringify(chat.killed('b1'))}\n`);
    await redis.client.zadd(`{${redis.tag}}:armed`, 0, chat.sessionId);
    await watcher.background.sweepNow();
    await sessionWhen(watcher, chat, (body) => body.state === 'killed');
    expect(watcher.transcripts.get(chat.sessionId)?.path).toBe(target);
  });
});

describe('after a start', () => {
  test('armed sessions are looked at again, and their files are watched', async ({ start, folders, redis }) => {
    const first = await start({ env: AUTO });
    await first.background.caughtUp;
    const [before, after] = [new Chat(folders.transcripts), new Chat(folders.transcripts)];
    for (const chat of [before, after]) {
      await chat.begin();
      await first.deliver(turnEnded(chat));
    }
    await first.stop();
    await before.kill();

    const second = await start({ env: AUTO });
    await second.background.caughtUp;

    await sessionWhen(second, before, (body) => body.state === 'killed');
    await eventually(async () => (await evaluations(redis, 'notice')).length >= 1);
    await after.kill();
    await sessionWhen(second, after, (body) => body.state === 'killed');
  });

  test('a notice that stood before the start is planned again', async ({ start, folders, redis }) => {
    const first = await start({ env: AUTO });
    await first.background.caughtUp;
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await first.deliver(turnEnded(chat));
    await chat.kill();
    await sessionWhen(first, chat, (body) => body.state === 'killed');
    await first.stop();

    const second = await start({ env: AUTO });
    await second.background.caughtUp;

    expect((await evaluations(redis, 'start')).map((job) => job.data['sessionId'])).toEqual([chat.sessionId]);
  });

  test('the settings of known projects are published again', async ({ start, folders, redis }) => {
    const first = await start();
    await first.background.caughtUp;
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await first.deliver(turnEnded(chat));
    await first.stop();

    const second = await start({ env: AUTO });
    await second.background.caughtUp;

    const { settings } = await second.store.context(chat.sessionId);
    expect(settings?.values.autoReDrive).toBe(true);
    expect(redis.tag).toBeTruthy();
  });

  test('two watchers: an event that one took is followed by the other', async ({ start, folders }) => {
    const first = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await first.background.caughtUp;
    await first.deliver(turnEnded(chat));
    const second = await start();
    await second.background.caughtUp;
    // Generations 2 and 3 are unknown to the first, which still watches the file.
    await second.deliver(event('turn.started', chat, { cause: 'human' }));
    await second.deliver(turnEnded(chat));
    await second.stop();

    await chat.kill();

    const session = await sessionWhen(first, chat, (body) => body.state === 'killed');
    expect(session.generation).toBe(3);
  });
});
