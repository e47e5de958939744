import type { QueueState } from './pulse.ts';

/** For how long due work has been standing, from one look at the queue to the next. */
export interface Standing {
  /**
   * Milliseconds for which the oldest due job has not been taken: a delayed one by its due moment, a waiting one since it was
   * first seen at the head of the list. 0: nothing stands, or the queue is paused.
   */
  of(state: QueueState): number;
}

/** A waiting job carries no moment at which it became due, so the head of the list is watched. */
export function createStanding(): Standing {
  let head: { id: string; sinceMs: number } | undefined;
  return {
    of({ nowMs, overdueMs, oldestWaiting, paused }) {
      if (paused || oldestWaiting === undefined) head = undefined;
      else if (head?.id !== oldestWaiting) head = { id: oldestWaiting, sinceMs: nowMs };
      if (paused) return 0;
      return Math.max(overdueMs, head === undefined ? 0 : nowMs - head.sinceMs);
    },
  };
}
