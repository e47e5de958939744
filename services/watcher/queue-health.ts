import type { Metrics } from '#shared/platform/metrics.js';
import type { Pulse, QueueState } from '#shared/queue/pulse.js';
import { createStanding } from '#shared/queue/standing.js';
import type { PartHealth } from './routes/health.ts';

/** What `/readyz` says of queue and workers; the same numbers are gauges. */
export interface QueuePart extends PartHealth {
  workersAlive: number;
  overdueMs: number;
}

export interface QueueHealth {
  /** Looks now. Throws the connection's error when Redis is away. */
  look(): Promise<QueuePart>;
}

/**
 * Due work that lies still for longer than this is nobody's: a worker that is full takes it within seconds, a deaf one is
 * replaced after 20 s.
 */
const OVERDUE_LIMIT_MS = 30_000;
/** A deployment that starts, or replaces its workers, is without one for a while. */
const ABSENCE_LIMIT_MS = 30_000;

/** Silent workers and overdue jobs (bullmq#2466: delayed jobs stop firing, and no error says so). */
export function createQueueHealth(
  pulse: Pick<Pulse, 'look'>,
  metrics: Pick<Metrics, 'overdueSeconds' | 'overdueJobs' | 'workersAlive'>,
  { limitMs = OVERDUE_LIMIT_MS, absenceMs = ABSENCE_LIMIT_MS, now = () => performance.now() } = {},
): QueueHealth {
  const standing = createStanding();
  let seenMs = now();

  function judge({ workers, paused }: QueueState, overdueMs: number): PartHealth {
    if (workers.length > 0) seenMs = now();
    if (workers.length === 0 && now() - seenMs >= absenceMs) {
      return { ok: false, message: 'No recovery worker is alive: nothing is evaluated until one starts.' };
    }
    if (overdueMs > limitMs) {
      const seconds = Math.round(overdueMs / 1_000);
      return {
        ok: false,
        message: `The oldest due job has been waiting for ${seconds} s: workers are too few or silent.`,
      };
    }
    return paused ? { ok: true, message: 'The queue was paused on its board.' } : { ok: true };
  }

  return {
    async look() {
      const state = await pulse.look();
      const overdueMs = standing.of(state);
      metrics.overdueSeconds.set(overdueMs / 1_000);
      metrics.overdueJobs.set(state.overdue);
      metrics.workersAlive.set(state.workers.length);
      return { ...judge(state, overdueMs), workersAlive: state.workers.length, overdueMs };
    },
  };
}
