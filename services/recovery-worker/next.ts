import type { DecisionReason } from '#shared/trail/reasons.js';
import type { JobData } from '#shared/queue/jobs.js';

/** How one run of a job ends: done, or the same job again at a time. Nothing here is a failure. */
export type Next =
  | { kind: 'done'; reason: DecisionReason | 'nudged' | 'clean' | 'confirmed' }
  | {
      kind: 'again';
      reason: DecisionReason;
      /** Redis time. */
      atMs: number;
      /** What the job is to remember. */
      data: Partial<Pick<JobData<'evaluate'>, 'deferrals' | 'firstDeferredMs' | 'failures' | 'noticeId'>>;
    };

export const done = (reason: Extract<Next, { kind: 'done' }>['reason']): Next => ({ kind: 'done', reason });

export const again = (
  reason: DecisionReason,
  atMs: number,
  data: Extract<Next, { kind: 'again' }>['data'] = {},
): Next => ({ kind: 'again', reason, atMs, data });
