import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchChat } from '../kit/chats.ts';
import { TAG, type Site } from '../kit/site.ts';

/**
 * Kills long after a turn's end that no file event tells of: only a late step of the armed index can find them. The clock is
 * moved, in that everything Redis holds of the chats becomes older.
 */

/** The step that is to find it, and the one after it. */
const STEP_MS = 600_000;
const NEXT_STEP_MS = 2_100_000;
/** The kill stands in the file so long before the step is due. */
const LEAD_MS = 4_000;
/** A turn's first step and its job are over. */
const FIRST_STEP_DONE_MS = 15_000;

/** A system that has no file watches left, as Node tells of it, in place of the watcher's own `fs.watch`. */
export const NO_FILE_EVENTS = `--import=data:text/javascript,${encodeURIComponent(`
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
fs.watch = () => { throw Object.assign(new Error('System limit for number of file watchers reached'), { code: 'ENOSPC' }); };
syncBuiltinESMExports();
`)}`;

/** Waits until the chats' first step is behind them, so that what comes next is the step that the clock says. */
export const firstStepDone = (): Promise<void> => sleep(FIRST_STEP_DONE_MS);

/**
 * Makes the chats' watches as old as just before the 10 min step.
 *
 * @returns when that step is due, epoch milliseconds
 */
export async function moveClock(site: Site, chats: readonly BenchChat[]): Promise<number> {
  const dueMs = Date.now() + LEAD_MS;
  for (const { sessionId } of chats) {
    const record = `{${TAG}}:s:${sessionId}`;
    const armedMs = Number(await site.redis.client.hget(record, 'at'));
    const byMs = dueMs - STEP_MS - armedMs;
    for (const field of ['at', 'up', 'ev', 'et']) await site.redis.client.hincrby(record, field, byMs);
    await site.redis.client.zadd(`{${TAG}}:armed`, dueMs, sessionId);
  }
  return dueMs;
}

/** Whether each nudge came after the step, and each chat's next step is the one that follows it. */
export async function foundByStep(site: Site, chats: readonly BenchChat[], dueMs: number): Promise<boolean[]> {
  const { client } = site.redis;
  return Promise.all(
    chats.map(async ({ sessionId }) => {
      const [nudge] = site.api.turns(sessionId);
      const nextMs = Number(await client.zscore(`{${TAG}}:armed`, sessionId));
      return nudge !== undefined && nudge.atMs >= dueMs && nextMs === dueMs - STEP_MS + NEXT_STEP_MS;
    }),
  );
}
