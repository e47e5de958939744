import type { QueueState } from '#shared/queue/pulse.js';
import { createStanding } from '#shared/queue/standing.js';

/**
 * Whether a worker still hears its queue (bullmq#1658, #2466, #2648: after days, or a failover, one sits in its blocking read
 * for ever, overdue jobs stay, and no error is logged).
 */
export interface Hearing {
  /** A job was taken just now. */
  took(): void;
  /**
   * `fine`: nothing has been standing for long. `deaf`: due work has, for `deafAfterMs`, there was room for it, and nothing
   * was taken in all that time. `unsure`: it stands, but this worker was full, took something, or was replaced meanwhile.
   */
  judge(state: QueueState, busy: { active: number; concurrency: number }): 'fine' | 'unsure' | 'deaf';
  /** The worker was replaced: it gets the whole time anew. */
  reset(): void;
}

/** @param now monotonic milliseconds */
export function createHearing(deafAfterMs: number, now: () => number = () => performance.now()): Hearing {
  const standing = createStanding();
  let quietSinceMs = now();
  const took = (): void => {
    quietSinceMs = now();
  };
  return {
    took,
    reset: took,
    judge(state, { active, concurrency }) {
      // Full by now: what it holds keeps it from taking more, and its end is an event of its own.
      if (active >= concurrency) took();
      if (standing.of(state) < deafAfterMs) return 'fine';
      return now() - quietSinceMs >= deafAfterMs ? 'deaf' : 'unsure';
    },
  };
}
