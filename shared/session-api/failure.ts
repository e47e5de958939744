import { SessionApiFailure } from './driver.ts';

/**
 * How what came back (or did not) becomes a {@link SessionApiFailure} (SPEC §7). Pure: the clock comes in as a value.
 *
 * `mayHaveArrived` answers one question: may the message have started a turn? A definite refusal is an answer, so it is
 * `false` there as well as where no connection was ever made.
 */

/** An answer that is no success, or one that does not keep the contract. */
export interface BadAnswer {
  status: number;
  retryAfter: string | undefined;
  /** As much of the body as was read, parsed; `undefined` where it was no JSON or was cut. */
  body: unknown;
}

/** Longest wait that a `Retry-After` may ask for. */
export const MAX_RETRY_AFTER_MS = 10 * 60_000;

/** Sorts an answer outside 2xx. Never call it with a 2xx. */
export function failureOfStatus(answer: BadAnswer, nowMs: number): SessionApiFailure {
  const { status } = answer;
  const common = { status, code: codeOf(answer), retryAfterMs: parseRetryAfter(answer.retryAfter, nowMs) };
  if (status === 429) {
    return new SessionApiFailure({ ...common, class: 'rate-limited', mayHaveArrived: false, message: says(status) });
  }
  if (status >= 500 || MAY_BE_REPEATED.has(status)) {
    // A gateway's 502 or 504 says nothing about the server behind it: the message may have got through.
    return new SessionApiFailure({ ...common, class: 'transient', mayHaveArrived: true, message: says(status) });
  }
  const kind = status === 409 ? 'busy' : status === 404 || status === 410 ? 'gone' : 'refused';
  return new SessionApiFailure({ ...common, class: kind, mayHaveArrived: false, message: says(status) });
}

/** 408 and 425 ask for a repeat by their definition (RFC 9110 §15.5.9, RFC 8470); they are the server's trouble, not ours. */
const MAY_BE_REPEATED = new Set([408, 425]);

/** A 2xx that is not the contract's answer: an HTML page, 200 for 202, a body that does not parse. The outcome is unknown. */
export function failureOfLie(status: number, what: string): SessionApiFailure {
  return new SessionApiFailure({
    class: 'transient',
    code: 'invalid_answer',
    message: `The session API answered ${status} with ${what}.`,
    mayHaveArrived: true,
    status,
  });
}

/**
 * Sorts an error of the connection.
 *
 * @param begun whether the request had begun to be written: only then can it have arrived.
 */
export function failureOfNetwork(error: unknown, begun: boolean): SessionApiFailure {
  const code = networkCode(error);
  const refused = UNSENDABLE.has(code);
  return new SessionApiFailure({
    class: refused ? 'refused' : 'network',
    code,
    message: `The session API could not be reached: ${describe(error)}`,
    mayHaveArrived: begun && !refused,
    cause: error,
  });
}

/** A request that the client itself cannot form (a token with a line break): repeating it is pointless. */
const UNSENDABLE = new Set(['UND_ERR_INVALID_ARG', 'ERR_INVALID_CHAR', 'UND_ERR_NOT_SUPPORTED']);

/** Seconds or an HTTP date (RFC 9110 §10.2.3), bounded to 0 … 10 minutes; `undefined` where it is neither. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim();
  if (text === undefined || text === '') return undefined;
  const asked = /^\d+$/.test(text) ? Number(text) * 1_000 : httpDate(text) - nowMs;
  return Number.isNaN(asked) ? undefined : Math.min(Math.max(asked, 0), MAX_RETRY_AFTER_MS);
}

/** `Date.parse` takes nearly anything; an HTTP date begins with a day's name and ends in GMT. */
function httpDate(text: string): number {
  return /^[a-z]{3,9},? .*\d.*GMT$/i.test(text) ? Date.parse(text) : Number.NaN;
}

function codeOf({ status, body }: BadAnswer): string {
  const named = typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined;
  return typeof named === 'string' && /^[\w.-]{1,64}$/.test(named) ? named : `http_${status}`;
}

const says = (status: number): string => `The session API answered ${status}.`;

function networkCode(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string')
    return error.code;
  return 'network_error';
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message || networkCode(error) : String(error);
}
