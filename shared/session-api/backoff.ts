/**
 * How long to wait before the next try: exponential with full jitter, at most 30 s between tries (SPEC §7). Pure.
 *
 * With the defaults the upper bounds are 0.5, 1, 2, 4, 8, 16, 30, 30 … seconds. Full jitter, because workers that lost the
 * same server at the same moment must not come back at the same moment.
 */
export interface BackoffOptions {
  /** Upper bound of the first wait. */
  baseMs?: number;
  /** Upper bound of every wait that the server did not ask for. */
  capMs?: number;
  /** Lower bound: a run of small random numbers must not become a tight loop. */
  floorMs?: number;
}

/**
 * @param attempt tries made so far, from 1.
 * @param random a number in [0, 1).
 * @param retryAfterMs what the server asked for, already bounded; never waited shorter than that.
 */
export function backoffMs(
  attempt: number,
  random: number,
  retryAfterMs?: number,
  options: BackoffOptions = {},
): number {
  const { baseMs = 500, capMs = 30_000, floorMs = 100 } = options;
  // 2^30 already exceeds any cap; without the bound the power overflows to Infinity, and 0 × Infinity is NaN.
  const bound = Math.min(capMs, baseMs * 2 ** Math.min(Math.max(attempt - 1, 0), 30));
  const jittered = Math.max(Math.min(floorMs, bound), Math.round(random * bound));
  return Math.max(jittered, retryAfterMs ?? 0);
}
