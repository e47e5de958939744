import { setTimeout as sleep } from 'node:timers/promises';
import type { Chat } from './chat.ts';
import type { Deployment } from './deployment.ts';
import type { Windows } from './windows.ts';

const RECORDED_WITHIN_MS = 10_000;
const ACCEPTED_WITHIN_MS = 15_000;
/** The backstop job is due 10 s after the turn's end; lease, debounce and a slow machine come on top. */
const NUDGED_WITHIN_MS = 25_000;
/** A second nudge would come with the next evaluation. */
const STILL_MS = 2_000;

/**
 * The last act: no watcher ever comes back, so nothing but the queue can keep what was promised.
 *
 * Turns end; the first watcher records each end and dies before its job is on the queue. The chat server, which had no
 * answer, repeats each delivery to the second watcher. With the last 2xx that one dies as well. Only then the tasks are
 * killed. No file event, no sweep and no catch-up is left: the job that the repeated delivery added is all there is.
 */
export async function lastAct(chats: readonly Chat[], deployment: Deployment, windows: Windows): Promise<void> {
  const [first, second] = [deployment.services['watcher-1'], deployment.services['watcher-2']];
  const recorded = windows.holdJobs(
    'watcher-1',
    chats.map(({ id }) => id),
  );
  // Every record is asked for before the first is answered; below the 500 ms that a watcher waits for Redis.
  deployment.wires.redis['watcher-1'].delay(100);
  const turns = await Promise.all(
    chats.map(async (chat) => {
      chat.webhooks.firstWatcherFirst = true;
      const [task] = await chat.turn({ cause: 'human', forMs: 100, tasks: 1 });
      return { chat, task };
    }),
  );
  await within(recorded, RECORDED_WITHIN_MS, 'the first watcher recorded every turn’s end');
  first.kill(undefined);
  await within(
    Promise.all(chats.map((chat) => chat.webhooks.settled)),
    ACCEPTED_WITHIN_MS,
    'every delivery was accepted',
  );
  second.kill(undefined);
  for (const { chat, task } of turns) if (task !== undefined) chat.transcript.notice(task);
  await Promise.race([untilNudged(chats), sleep(NUDGED_WITHIN_MS, undefined, { ref: false })]);
  await sleep(STILL_MS);
}

async function untilNudged(chats: readonly Chat[]): Promise<void> {
  while (chats.some(({ nudges }) => nudges === 0)) await sleep(100);
}

async function within<T>(work: Promise<T>, ms: number, what: string): Promise<void> {
  const late = sleep(ms, 'late' as const, { ref: false });
  if ((await Promise.race([work, late])) === 'late') throw new Error(`The last act could not begin: not ${what}.`);
}
