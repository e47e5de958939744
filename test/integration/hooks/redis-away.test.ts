import { canIsolateRedis, isolatedRedis, type IsolatedRedis } from '../../support/isolated-redis.ts';
import { eventually } from '../../support/events.ts';
import { Chat } from '../watcher/chat.ts';
import { describe, expect, sessionWhen, test } from '../watcher/harness.ts';
import { counted, HOOK_TOKEN, payload, post } from './support.ts';

const isolated = test.extend<{ own: IsolatedRedis }>({
  own: async ({ folders: _folders }, use) => {
    const own = await isolatedRedis({ durable: true });
    await use(own);
    await own.close();
  },
});

const answerOf = async (work: Promise<Response>) => {
  const startedAt = performance.now();
  const answer = await work;
  return { status: answer.status, body: await answer.text(), quick: performance.now() - startedAt < 1_000 };
};

describe.skipIf(!canIsolateRedis())('hooks while Redis is away', () => {
  isolated('are answered at once and recorded in their order once it is back', async ({ own, start, folders }) => {
    const watcher = await start({ redisUrl: own.url, env: { HOOK_TOKEN }, tuning: { hooks: { retryMs: 100 } } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await own.kill();
    for (const body of [payload(chat, 'UserPromptSubmit', { prompt: 'Build it.' }), payload(chat, 'Stop')]) {
      expect(await answerOf(post(watcher, body))).toEqual({ status: 200, body: '{}', quick: true });
    }
    await own.start();
    const { trail } = await sessionWhen(watcher, chat, ({ armed }) => armed);
    expect(trail.map(({ kind }) => kind)).toEqual(['human-message', 'turn-started', 'turn-ended']);
  });

  isolated('for too long: counted as lost, and the chat is found by its file', async ({ own, start, folders }) => {
    const watcher = await start({
      redisUrl: own.url,
      env: { HOOK_TOKEN },
      tuning: { hooks: { retryMs: 50, giveUpAfterMs: 200 }, discovery: { everyMs: 100 } },
    });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await own.kill();
    await post(watcher, payload(chat, 'Stop'));
    await eventually(async () => (await counted(watcher, 'Stop', 'lost')) === 1, { timeoutMs: 10_000 });
    await chat.kill();
    await own.start();
    await sessionWhen(watcher, chat, ({ state }) => state === 'killed');
  });
});
