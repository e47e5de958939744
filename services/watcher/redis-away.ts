import { DeadlineError, withDeadline } from '#shared/platform/deadline.js';
import { Problem } from '#shared/platform/problem.js';

/** What a request may spend on Redis before its caller is told to come again (SPEC §6: within about a second). */
export const REDIS_DEADLINE_MS = 900;

/** First words of replies with which Redis says that it cannot take the work now: full, read-only, starting, failing over. */
const NOT_NOW = [
  'OOM',
  'READONLY',
  'LOADING',
  'MISCONF',
  'NOREPLICAS',
  'MASTERDOWN',
  'CLUSTERDOWN',
  'TRYAGAIN',
  'BUSY',
  'UNBLOCKED',
  'NOAUTH',
  'WRONGPASS',
  'NOPERM',
];

/**
 * Runs what needs Redis, under a deadline of its own: BullMQ waits for a connection without end (measured), a frozen server
 * keeps the socket open.
 *
 * Throws {@link Problem} 503 with `Retry-After` where Redis is away or cannot take it; any other error goes through as it is.
 */
export async function needsRedis<T>(work: () => Promise<T>, deadlineMs = REDIS_DEADLINE_MS): Promise<T> {
  try {
    return await withDeadline(work(), deadlineMs, 'Redis');
  } catch (error) {
    throw isRedisAway(error) ? redisUnavailable(error) : error;
  }
}

/** Whether an error says that Redis is away or cannot take work now, rather than that we did something wrong. */
export function isRedisAway(error: unknown): boolean {
  if (error instanceof DeadlineError) return true;
  if (!(error instanceof Error)) return false;
  // Within a script the first words come after "ERR … script: …, ", so they are looked for anywhere in the text.
  if (error.name === 'ReplyError') return NOT_NOW.some((word) => new RegExp(`\\b${word}\\b`).test(error.message));
  if (error.name === 'MaxRetriesPerRequestError' || error.name === 'AbortError') return true;
  if ('code' in error && typeof error.code === 'string' && /^E[A-Z]+$/.test(error.code)) return 'syscall' in error;
  return /Connection is closed|Stream isn't writeable|Command timed out|Connection is in closing state/i.test(
    error.message,
  );
}

function redisUnavailable(cause: unknown): Problem {
  const problem = new Problem({
    status: 503,
    code: 'redis_unavailable',
    detail: 'Redis cannot be reached or cannot take work now; nothing was accepted. Send it again.',
    retryAfterS: 1,
    extra: { part: 'redis' },
  });
  problem.cause = cause;
  return problem;
}
