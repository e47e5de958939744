import { z } from 'zod';
import { sessionIdSchema } from '#shared/session/events.js';

/** Version in which each kind's payload is written. A kind that older workers do not know has one that they do not know either. */
export const JOB_VERSION = { evaluate: 1, continue: 1, limbo: 1, backstop: 2 } as const;
/** A job with a newer one is deferred for a newer worker. */
export const NEWEST_JOB_VERSION = Math.max(...Object.values(JOB_VERSION));

const v = z.int().min(1);

const base = {
  v,
  sessionId: sessionIdSchema,
  server: z.string(),
  project: z.string(),
  generation: z.int().min(0),
  /** Correlation id from the webhook or the sweep that made the job. */
  cid: z.string(),
};

/**
 * The job catalogue: every kind of work with its payload. Producer and worker are both typed from it and the payload is
 * parsed again on arrival.
 */
export const JOBS = {
  /** Judge the session, nudge where everything agrees. */
  evaluate: z.object({
    ...base,
    path: z.string(),
    /** `turn-end` is written by earlier versions alone. */
    why: z.enum(['turn-end', 'notice', 'clock', 'sweep', 'settings', 'confirm', 'start']),
    /** The hang this evaluation is for; without one a clean read ends it without asking Redis. */
    noticeId: z.string().optional(),
    /** For `confirm`: the attempt that is to be confirmed. */
    attemptId: z.string().optional(),
    /** No dispatch deferrals so far, and when the first was (Redis time). */
    deferrals: z.int().default(0),
    firstDeferredMs: z.number().optional(),
    /** Tries against an unreachable session API so far: the back-off's exponent. */
    failures: z.int().default(0),
  }),
  /** A person pressed Continue. Job id = attempt id. */
  continue: z.object({ ...base, path: z.string(), noticeId: z.string().optional() }),
  /** Silence after a killed task: surface as stuck. */
  limbo: z.object({ ...base, path: z.string(), noticeId: z.string(), limboTimeoutMs: z.number() }),
  /**
   * Steps of armed sessions that no watcher has taken. One job sees to all steps that are due in the same second, so a
   * turn end costs a job only where it is the first of its second.
   */
  backstop: z.object({ v }),
} as const;

export type JobName = keyof typeof JOBS;
export type JobData<N extends JobName> = z.output<(typeof JOBS)[N]>;
export const QUEUE_NAME = 'recovery';
