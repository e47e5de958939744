import { createSessionStore } from '#shared/session/redis-store.js';
import { sessionKeys } from '#shared/session/keys.js';
import { describe, expect, test, vi, type RedisFixture } from '../../support/redis.ts';
import { Chat, publish } from './support.ts';

const TTL_MS = 1_500;

const shortLived = ({ client, tag }: RedisFixture) =>
  createSessionStore({ redis: client, tag, sessionTtlMs: TTL_MS, markTtlMs: TTL_MS });

async function keysOf({ client, tag }: RedisFixture): Promise<string[]> {
  const found: string[] = [];
  for await (const keys of client.scanStream({ match: `{${tag}}:*`, count: 1_000 })) found.push(...(keys as string[]));
  return found;
}

/** A life in which every kind of key is written. */
async function live(chat: Chat): Promise<void> {
  await chat.human(0);
  await chat.turnStarted(1);
  await chat.turnEnded(2);
  await chat.notice();
  const claim = await chat.claim();
  if (!claim.ok) throw new Error(`not claimed: ${claim.reason}`);
  const ref = { sessionId: chat.id, attemptId: claim.attemptId, owner: 'worker-1' };
  await chat.store.sending(ref, 10_000);
  await chat.store.settleNudge(ref, { outcome: 'accepted', detail: undefined });
  await chat.store.unconfirmed(chat.id, claim.attemptId);
  await chat.store.note(chat.id, { kind: 'deferred', reason: 'transcript-undetermined' }, 'once');
}

describe('what chats took of Redis', () => {
  test('no key lives for ever but the off switch, and with the chats all the others go', async ({ redis }) => {
    const store = shortLived(redis);
    await publish(store);
    for (let n = 0; n < 3; n += 1) {
      const chat = new Chat(store);
      await live(chat);
      await chat.closed(10);
    }
    await store.pause('operator');
    const { pause, hour, slots } = sessionKeys(redis.tag);
    // The budget's own hour and the longest turn: bounded by the nudges of an hour, whatever the number of chats.
    const budget = [hour, slots];
    const ofChats = async () => (await keysOf(redis)).filter((key) => !budget.includes(key));
    const keys = await keysOf(redis);
    expect(keys.length).toBeGreaterThan(10);
    const lives = await Promise.all(keys.map(async (key) => [key, await redis.client.pttl(key)] as const));
    expect(lives.filter(([, ttlMs]) => ttlMs === -1).map(([key]) => key)).toEqual([pause]);
    await vi.waitUntil(async () => (await ofChats()).length === 1, { timeout: 5 * TTL_MS, interval: 50 });
    expect(await ofChats()).toEqual([pause]);
  });

  test('indexes that new chats keep alive give up those that have expired', async ({ redis }) => {
    const store = shortLived(redis);
    const keys = sessionKeys(redis.tag);
    const old = new Chat(store);
    await old.human(0);
    expect(await redis.client.zrange(keys.unwatched, '0', '-1')).toEqual([old.id]);
    const isGone = async () => {
      // Something goes on all the time.
      await new Chat(store).human(0);
      return (await redis.client.exists(keys.session(old.id))) === 0;
    };
    await vi.waitUntil(isGone, { timeout: 5 * TTL_MS, interval: 50 });
    const last = new Chat(store);
    await last.human(0);
    for (const index of [keys.sessions, keys.unwatched]) {
      const members = await redis.client.zrange(index, '0', '-1');
      expect(members).toContain(last.id);
      expect(members).not.toContain(old.id);
    }
  });

  test('only a turn that began in a chat that nobody watches is expected to end', async ({ redis }) => {
    const store = shortLived(redis);
    const expected = () => redis.client.zrange(sessionKeys(redis.tag).unwatched, '0', '-1');
    const chat = new Chat(store);
    await chat.turnStarted(1);
    expect(await expected()).toEqual([chat.id]);
    await chat.turnEnded(2);
    expect(await expected()).toEqual([]);
    // Watched already: its own steps look at it.
    await chat.turnStarted(3);
    expect(await expected()).toEqual([]);
    const other = new Chat(store);
    await other.human(1);
    await other.closed(2);
    expect(await expected()).toEqual([]);
  });

  test('published settings do not expire under a watcher that goes on publishing them', async ({ redis }) => {
    const store = shortLived(redis);
    const { settings } = sessionKeys(redis.tag);
    const untilMs = performance.now() + 1.5 * TTL_MS;
    // Time is the subject: what is not renewed is gone after the TTL.
    const isOver = async () => {
      await publish(store);
      expect(await redis.client.exists(settings)).toBe(1);
      return performance.now() >= untilMs;
    };
    await vi.waitUntil(isOver, { timeout: 5 * TTL_MS, interval: 50 });
  });
});
