import { readFileSync } from 'node:fs';
import type { RedisClient } from '#shared/platform/redis.js';
import { QUEUE_NAME } from './jobs.ts';
import { queuePrefix } from './queue.ts';

/** How the queue stands at one moment, in Redis time. */
export interface QueueState {
  nowMs: number;
  /** Ids of the workers that have shown themselves lately. */
  workers: string[];
  /** Delayed jobs whose due moment has passed, and how long ago the oldest one's did. */
  overdue: number;
  overdueMs: number;
  /** Jobs that wait for a free worker, and the id of the one that waits longest. */
  waiting: number;
  oldestWaiting: string | undefined;
  /** Somebody paused the queue itself (on the board): standing work is no sign of anything then. */
  paused: boolean;
}

/** The queue's pulse: workers show themselves, and anybody sees how it stands. One script each, safe to resend. */
export interface Pulse {
  look(): Promise<QueueState>;
  /** Looks, and counts this worker as alive for another `ttlMs`. */
  beat(worker: string, ttlMs: number): Promise<QueueState>;
  /** This worker is going; it is not missed from now on. */
  leave(worker: string): Promise<void>;
}

interface RawState {
  now: number;
  workers: string[] | Record<string, never>;
  overdue: number;
  overdueMs: number;
  waiting: number;
  oldestWaiting?: string;
  paused: boolean;
}

type Command = (...args: string[]) => Promise<string>;
const COMMAND = 'chatRecovery_pulse';
const KEY_COUNT = 4;

/**
 * Not BullMQ's `getWorkers`, which reads `CLIENT LIST`: hosted Redis often forbids it, a cluster's node knows only its own
 * connections, and a worker that is connected but takes nothing would count.
 */
export function createPulse(redis: RedisClient, tag: string): Pulse {
  const lua = readFileSync(new URL('./lua/pulse.lua', import.meta.url), 'utf8');
  redis.defineCommand(COMMAND, { numberOfKeys: KEY_COUNT, lua });
  const command = (redis as unknown as Record<string, Command>)[COMMAND];
  const prefix = queuePrefix(tag);
  const queueKey = (name: string): string => `${prefix}:${QUEUE_NAME}:${name}`;
  const keys = [`${prefix}:workers`, queueKey('delayed'), queueKey('wait'), queueKey('meta')];

  async function run(worker: string, ttlMs: number): Promise<QueueState> {
    if (command === undefined) throw new Error('script pulse is not defined');
    const raw = JSON.parse(await command.call(redis, ...keys, worker, String(ttlMs))) as RawState;
    const { now, workers, oldestWaiting, ...counts } = raw;
    return { nowMs: now, workers: Array.isArray(workers) ? workers : [], oldestWaiting, ...counts };
  }
  return {
    look: () => run('', 0),
    beat: run,
    leave: async (worker) => void (await run(worker, 0)),
  };
}
