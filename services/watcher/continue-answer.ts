import { z } from 'zod';
import { Problem } from '#shared/platform/problem.js';
import { reasonText } from './session-view.ts';

/** What a worker returns for a `continue` job. */
export const continueResultSchema = z.object({
  /** `accepted`, `unknown`, `would-nudge` (dry run): carried out; anything else carries its reason. */
  outcome: z.string(),
  reason: z.string().optional(),
  attemptId: z.string().optional(),
  turnId: z.string().optional(),
  detail: z.string().optional(),
});

/** Reasons that say *not now*: something moves the chat, or is about to. */
const BUSY: ReadonlySet<string> = new Set([
  'turn-running',
  'queued-follow-up',
  'waiting',
  'attempt-under-way',
  'verdict-busy',
  'deferred-too-long',
  'superseded',
  'budget-hour',
  'budget-concurrent',
  'debounce',
]);
/** Reasons that lie with the session API. */
const API: ReadonlySet<string> = new Set(['api-unreachable', 'api-rate-limited', 'api-refused', 'session-gone']);
/** Outcomes with which something was done. */
const DONE: ReadonlySet<string> = new Set(['accepted', 'nudged', 'unknown', 'would-nudge', 'dry-run']);

/** The body of the 200, or the {@link Problem} that the worker's answer stands for. */
export function answerOf(result: unknown): object {
  const parsed = continueResultSchema.safeParse(result);
  if (!parsed.success) {
    throw new Problem({
      status: 502,
      code: 'worker_failed',
      detail: 'The worker answered in a way that is not understood here; it may be of another version.',
      extra: { part: 'worker' },
    });
  }
  const { outcome, reason } = parsed.data;
  if (DONE.has(outcome)) return { ...parsed.data, reasonText: reasonText(reason) };
  throw refusal(reason ?? outcome, parsed.data.detail);
}

function refusal(reason: string, detail: string | undefined): Problem {
  const words = reasonText(reason) ?? reason;
  const extra = { reason, ...(detail === undefined ? {} : { workerDetail: detail }) };
  if (reason === 'surface-off') return new Problem({ status: 403, code: 'surface_off', detail: words, extra });
  if (BUSY.has(reason)) return new Problem({ status: 409, code: 'busy', detail: words, extra });
  if (API.has(reason)) {
    return new Problem({
      status: 502,
      code: reason.replaceAll('-', '_'),
      detail: words,
      extra: { ...extra, part: 'session-api' },
    });
  }
  return new Problem({ status: 409, code: 'not_hung', detail: words, extra });
}
