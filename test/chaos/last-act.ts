import { setTimeout as sleep } from 'node:timers/promises';
import type { Chat, Task } from './chat.ts';
import { TAG, type Deployment } from './deployment.ts';
import { withoutBackstops } from './leftovers.ts';
import type { Windows } from './windows.ts';

/**
 * The backstop job is due 13 s after the turn's end: a machine that needs longer than this until both watchers are dead
 * would have it look too early, and the act proves nothing.
 */
const READY_WITHIN_MS = 7_000;
/** The backstop itself; lease, debounce and a slow machine come on top. */
const NUDGED_WITHIN_MS = 30_000;
/** A second nudge would come with the next evaluation. */
const STILL_MS = 2_000;

/**
 * The last act: no watcher ever comes back, so nothing but the queue can keep what was promised.
 *
 * Turns end; the first watcher records each end and dies before its job is on the queue. The chat server, which had no
 * answer, repeats each delivery to the second watcher. With the last 2xx that one dies as well. Only then the tasks are
 * killed. No file event, no sweep, no catch-up and no earlier turn's job is left: the one that the repeated deliveries added is
 * all there is.
 *
 * Resolves false where the machine was too slow for it to begin.
 */
export async function lastAct(
  chats: readonly Chat[],
  { services, wires, redis }: Deployment,
  windows: Windows,
): Promise<boolean> {
  await withoutBackstops(redis.port, TAG);
  const recorded = windows.holdJobs('watcher-1', chats.length);
  // Every record is asked for before the first is answered; below the 500 ms that a watcher waits for Redis.
  wires.redis['watcher-1'].delay(100);
  const turns = await Promise.all(chats.map(endTurn));
  const isDead = recorded.then(() => Promise.all(chats.map((chat) => chat.webhooks.settled))).then(() => true);
  const isReady = await Promise.race([isDead, sleep(READY_WITHIN_MS, false, { ref: false })]);
  services['watcher-1'].kill(undefined);
  services['watcher-2'].kill(undefined);
  windows.holdNothing();
  if (!isReady) return false;
  for (const { chat, task } of turns) if (task !== undefined) chat.transcript.notice(task);
  await Promise.race([untilNudged(chats), sleep(NUDGED_WITHIN_MS, undefined, { ref: false })]);
  await sleep(STILL_MS);
  return true;
}

async function endTurn(chat: Chat): Promise<{ chat: Chat; task: Task | undefined }> {
  chat.webhooks.firstWatcherFirst = true;
  const [task] = await chat.turn({ cause: 'human', forMs: 100, tasks: 1 });
  return { chat, task };
}

async function untilNudged(chats: readonly Chat[]): Promise<void> {
  while (chats.some(({ nudges }) => nudges === 0)) await sleep(100);
}
