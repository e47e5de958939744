import { readFileSync } from 'node:fs';
import type { RedisClient } from '#shared/platform/redis.js';
import type { StreamId } from '#shared/trail/stream-id.js';
import type { Notice, NoticeType } from './types.ts';

/** Noise control. */
export interface NoticeLimits {
  /** Notices of one type that go out singly within a window; the others become one digest at its end. */
  single: number;
  windowMs: number;
  /** So many may wait at most; what comes beyond is dropped and counted. */
  outbox: number;
  /** Chats that a digest names. */
  examples: number;
}

/** One notice that is due now. */
export interface DueNotice {
  id: string;
  type: NoticeType;
  atMs: number;
  /** This try included. */
  tries: number;
  ageMs: number;
  data: Record<string, unknown>;
}

export type Enqueued =
  | { taken: true; single: number; digested: number; known: number; dropped: number }
  | { taken: false; cursor: StreamId };

/**
 * Notices that wait in Redis until a receiver has taken them. Any watcher of a deployment fills it and empties it: a piece of
 * the trail is taken by whoever comes first, an item is sent by whoever holds its lease. Throws the connection's error.
 */
export interface Outbox {
  cursor(): Promise<StreamId | undefined>;
  /** Where to begin; does nothing where there is a cursor already. */
  begin(at: StreamId): Promise<void>;
  /** Notices of the trail's piece after `from` up to `to`; without a piece they came from elsewhere. */
  put(notices: readonly Notice[], piece?: { from: StreamId; to: StreamId }): Promise<Enqueued>;
  take(limit: number, leaseMs: number): Promise<DueNotice[]>;
  done(id: string): Promise<void>;
  again(id: string, waitMs: number): Promise<void>;
  /** The episode is over: the next of its kind is told again. */
  forget(episode: string): Promise<void>;
}

/** Nothing of it outlives a week without use. */
const KEEP_MS = 7 * 86_400_000;
const SCRIPTS = { enqueue: 5, take: 2, settle: 2 } as const;
type Command = (...args: string[]) => Promise<string | number>;

/** @param tag what stands between the braces of every key */
export function createOutbox(redis: RedisClient, tag: string, limits: NoticeLimits): Outbox {
  for (const [name, numberOfKeys] of Object.entries(SCRIPTS)) {
    const lua = readFileSync(new URL(`./lua/${name}.lua`, import.meta.url), 'utf8');
    redis.defineCommand(`chatRecovery_notices_${name}`, { numberOfKeys, lua });
  }
  const commands = redis as unknown as Record<string, Command>;
  const run = async (name: keyof typeof SCRIPTS, ...args: string[]): Promise<string> =>
    String(await commands[`chatRecovery_notices_${name}`]?.call(redis, ...args));
  const key = (name: string): string => `{${tag}}:notices:${name}`;
  const [cursor, seen, due, items, rate] = [key('cursor'), key('seen'), key('due'), key('items'), key('rate')];
  return {
    cursor: async () => (await redis.get(cursor)) ?? undefined,
    begin: async (at) => void (await redis.set(cursor, at, 'PX', KEEP_MS, 'NX')),
    async put(notices, piece) {
      const work = { ...piece, keepMs: KEEP_MS, limits, notices };
      return JSON.parse(await run('enqueue', cursor, seen, due, items, rate, JSON.stringify(work))) as Enqueued;
    },
    take: async (limit, leaseMs) =>
      JSON.parse(await run('take', due, items, String(leaseMs), String(limit))) as DueNotice[],
    done: async (id) => void (await run('settle', due, items, id, '')),
    again: async (id, waitMs) => void (await run('settle', due, items, id, String(Math.ceil(waitMs)))),
    forget: async (episode) => void (await redis.zrem(seen, episode)),
  };
}
