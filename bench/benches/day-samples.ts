import { cpuSince, rssOf } from '../kit/cpu.ts';
import { TAG, type Site } from '../kit/site.ts';
import { quantile } from '../kit/statistics.ts';
import type { DayChats } from './day-chats.ts';

/** One interval of the day, or what there was at its end. */
export interface DaySample {
  /** Hour of the compressed day at which the interval began. */
  hour: number;
  cpuPercent: Record<Part, number>;
  rssMb: Record<Part, number>;
  redisMb: number;
  redisCommandsPerSecond: number;
  turnEndsPerSecond: number;
  armed: number;
  nudges: number;
  /** Of the nudges that came in the interval; `null`: none came. */
  overshootMs: { median: number; p99: number } | null;
}

/** All workers count as one. */
export type Part = 'watcher' | 'worker' | 'redis';

const MB = 1_024 ** 2;

/** Takes one sample at each call, of the time since the one before. */
export async function createSampler(site: Site, chats: DayChats, hourOf: (ms: number) => number) {
  const pids = site.pids();
  const startMs = performance.now();
  let before = {
    atMs: startMs,
    used: cpuSince(pids),
    commands: await site.redis.commandsRun(),
    turnEnds: 0,
    nudges: 0,
  };

  return async function sample(): Promise<DaySample> {
    const cpu = before.used();
    const used = cpuSince(pids);
    const [commands, redisBytes, armed] = await Promise.all([
      site.redis.commandsRun(),
      site.redis.usedMemory(),
      site.redis.client.zcard(`{${TAG}}:armed`),
    ]);
    const now = { atMs: performance.now(), used, commands, turnEnds: chats.turnEnds, nudges: chats.nudged.length };
    const intervalMs = now.atMs - before.atMs;
    const overshoot = chats.nudged.slice(before.nudges, now.nudges).map(({ overshootMs }) => overshootMs);
    const result: DaySample = {
      hour: hourOf(before.atMs - startMs),
      cpuPercent: ofParts((part) => (cpu[part] / intervalMs) * 100),
      rssMb: ofParts((part) => pids[part].reduce((sum, pid) => sum + rssOf(pid), 0) / MB),
      redisMb: redisBytes / MB,
      redisCommandsPerSecond: ((commands - before.commands) / intervalMs) * 1_000,
      turnEndsPerSecond: ((now.turnEnds - before.turnEnds) / intervalMs) * 1_000,
      armed,
      nudges: overshoot.length,
      overshootMs: overshoot.length === 0 ? null : { median: quantile(overshoot, 0.5), p99: quantile(overshoot, 0.99) },
    };
    before = now;
    return result;
  };
}

const ofParts = (of: (part: Part) => number): Record<Part, number> => ({
  watcher: of('watcher'),
  worker: of('worker'),
  redis: of('redis'),
});
