import { z } from 'zod';
import { Problem } from '#shared/platform/problem.js';
import { reasonText } from './session-view.ts';

const refused = z.object({ reason: z.string() });

/** What a worker returns for a `continue` job; it may be of another version, so its answer is checked like any other's. */
const continueResultSchema = z.discriminatedUnion('result', [
  z.object({ result: z.literal('nudged'), attemptId: z.string(), turnId: z.string().optional() }),
  z.object({ result: z.literal('unconfirmed'), attemptId: z.string().optional(), detail: z.string() }),
  refused.extend({ result: z.enum(['busy', 'not_hung', 'surface_off', 'unknown', 'gone']) }),
  z.object({ result: z.literal('unavailable'), part: z.string(), detail: z.string() }),
]);
type Refused = { result: 'busy' | 'not_hung' | 'surface_off' | 'unknown' | 'gone'; reason: string };

/** Body of the 200. */
export interface ContinueAnswer {
  /** `unconfirmed`: the call may have arrived and is not repeated. */
  outcome: 'nudged' | 'unconfirmed';
  attemptId: string | null;
  turnId: string | null;
  detail: string | null;
}

/** What became of a Continue, or the {@link Problem} that the worker's answer stands for. */
export function answerOf(result: unknown): ContinueAnswer {
  const parsed = continueResultSchema.safeParse(result);
  if (!parsed.success) {
    throw unavailable('worker', 'The worker answered in a way that is not understood here; is it of another version?');
  }
  const { data } = parsed;
  switch (data.result) {
    case 'nudged':
      return { outcome: 'nudged', attemptId: data.attemptId, turnId: data.turnId ?? null, detail: null };
    case 'unconfirmed':
      return { outcome: 'unconfirmed', attemptId: data.attemptId ?? null, turnId: null, detail: data.detail };
    case 'unavailable':
      throw unavailable(data.part, `The ${data.part} failed: ${data.detail}.`);
    default:
      throw refusal(data);
  }
}

function unavailable(part: string, detail: string): Problem {
  const code = `${part.replaceAll('-', '_')}_failed`;
  return new Problem({ status: 502, code, detail, extra: { part } });
}

/** Status and code of each refusal: a session that is gone has nothing to continue. */
const REFUSALS = {
  busy: { status: 409, code: 'busy' },
  not_hung: { status: 409, code: 'not_hung' },
  gone: { status: 409, code: 'not_hung' },
  surface_off: { status: 403, code: 'surface_off' },
  unknown: { status: 404, code: 'session_unknown' },
} as const satisfies Record<Refused['result'], { status: number; code: string }>;

function refusal({ result, reason }: Refused): Problem {
  return new Problem({ ...REFUSALS[result], detail: reasonText(reason) ?? reason, extra: { reason } });
}
