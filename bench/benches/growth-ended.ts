import { setTimeout as sleep } from 'node:timers/promises';
import { kill, reply, type BenchChat } from '../kit/chats.ts';
import { Deliverer } from '../kit/deliver.ts';
import { delivery, turnEnd } from '../kit/deliveries.ts';
import { Site, TAG } from '../kit/site.ts';
import type { Say } from './growth.ts';

/**
 * What sessions leave behind in Redis once they have been closed and their records have expired: nothing, beside what has a
 * greatest length of its own. Their life is shortened by settings alone, and all sizes follow each other in one deployment,
 * so that what each leaves would add up.
 */

export interface Left {
  sessions: number;
  /** Redis while all are armed, above what it had before, without what is bounded. */
  armedBytes: number;
  /** The same when all have ended and expired. */
  leftBytes: number;
  leftKeys: number;
  /** What is bounded by its length and not by what lives: the queue keeps its last 1,000 jobs, the trail 20,000 lines. */
  boundedBytes: number;
  /** From the last close until the keys were gone. */
  goneAfterMs: number;
}

const CONNECTIONS = 50;
const DEBOUNCE_MS = 1_000;
const NUDGED_WITHIN_MS = 20_000;
/** Marks live twice the tolerance, records their own time: more than the minute after which settings are published again. */
const ENV = { WEBHOOK_TOLERANCE_MS: '15000', SESSION_TTL: '70s' };
const GIVE_UP_MS = 150_000;
/** A first lot makes whatever is made once: loaded scripts, the queue's own keys, indexes. */
const FIRST_LOT = 200;
/** Killed and nudged in each lot, whatever its size: what a nudge leaves is kept for a while, for all to see. */
const KILLED = 20;

/** @param sizes how many sessions live and end at a time, one lot after the other */
export async function endedLeave(root: string, sizes: readonly number[], say: Say): Promise<Left[]> {
  const site = await Site.start({ root, debounceMs: DEBOUNCE_MS, connections: CONNECTIONS, env: ENV });
  try {
    await lot(site, FIRST_LOT, await stateOf(site));
    const before = await stateOf(site);
    const left: Left[] = [];
    for (const size of sizes) {
      left.push(await lot(site, size, before));
      say(`${size} sessions ended: ${JSON.stringify(left.at(-1))}`);
    }
    return left;
  } finally {
    await site.close();
  }
}

interface State {
  bytes: number;
  boundedBytes: number;
  keys: number;
}

/** Keys that are there whatever sessions live, each bounded by itself. */
const BOUNDED = [`{${TAG}}:trail`, `{${TAG}}:sent`, `{${TAG}}:workers`];

async function stateOf({ redis }: Site): Promise<State> {
  const bounded = [...BOUNDED, ...(await redis.client.keys(`{${TAG}}:recovery:*`))];
  const bytes = await Promise.all(bounded.map((key) => redis.client.memory('USAGE', key, 'SAMPLES', 0)));
  const there = bytes.filter((each) => each !== null);
  const boundedBytes = there.reduce((sum, each) => sum + each, 0);
  return {
    bytes: (await redis.usedMemory()) - boundedBytes,
    boundedBytes,
    keys: (await redis.client.dbsize()) - there.length,
  };
}

async function lot(site: Site, size: number, before: State): Promise<Left> {
  const deliverer = new Deliverer(() => site.sender);
  const chats = site.makeChats(size, 0);
  await deliverer.deliverAll(chats, CONNECTIONS, (chat) => turnEnd(chat, 1));
  const armedBytes = (await stateOf(site)).bytes - before.bytes;
  await nudgeSome(site, chats.slice(0, KILLED));
  await deliverer.deliverAll(chats, CONNECTIONS, closed);
  for (const { sessionId } of chats) site.api.sessions.delete(sessionId);
  const goneAfterMs = await expired(site);
  const after = await stateOf(site);
  return {
    sessions: size,
    armedBytes,
    leftBytes: after.bytes - before.bytes,
    leftKeys: after.keys - before.keys,
    boundedBytes: after.boundedBytes,
    goneAfterMs,
  };
}

/** Attempts and jobs of nudges are to be gone as well. */
async function nudgeSome(site: Site, chats: readonly BenchChat[]): Promise<void> {
  chats.forEach(kill);
  const startMs = performance.now();
  const isNudged = ({ sessionId }: BenchChat): boolean => site.api.sessions.get(sessionId)?.state === 'running';
  while (!chats.every(isNudged)) {
    if (performance.now() - startMs > NUDGED_WITHIN_MS) throw new Error('A killed chat was not nudged.');
    await sleep(100);
  }
  for (const chat of chats) reply(chat, '[Paddock recovery] Please go on.');
}

const closed = (chat: BenchChat): Buffer =>
  delivery(chat, 'session.closed', { reason: 'ended' }, { id: `${chat.sessionId}-closed` });

/** Waits until none of the sessions' keys is there; then what Redis itself tidies up has had a moment too. */
async function expired(site: Site): Promise<number> {
  const startMs = performance.now();
  while ((await stateOf(site)).keys > 0 && performance.now() - startMs < GIVE_UP_MS) await sleep(1_000);
  const goneAfterMs = Math.round(performance.now() - startMs);
  await sleep(2_000);
  return goneAfterMs;
}
