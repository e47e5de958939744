export interface CollapseOptions {
  /** Told the first occurrence at once, then at most once per interval with how many were left out since. */
  report: (error: Error, leftOut: number) => void;
  /** Length of the interval; the default, 30 s, is two lines a minute for a part that stays broken. */
  intervalMs?: number;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
}

/**
 * Turns a stream of repeated errors into the first and then a count.
 *
 * A Redis client reports 3 errors a second while the server is down and a worker 10 a second while writes are refused;
 * a log that repeats each of them buries what matters. Different messages are counted apart.
 */
export function collapseErrors({
  report,
  intervalMs = 30_000,
  now = () => performance.now(),
}: CollapseOptions): (error: Error) => void {
  const seen = new Map<string, { reportedAt: number; leftOut: number }>();
  return (error) => {
    const entry = seen.get(error.message);
    const at = now();
    if (entry !== undefined && at - entry.reportedAt < intervalMs) {
      entry.leftOut += 1;
      return;
    }
    // Messages may carry ports or ids: the table is emptied before it can grow without end.
    if (seen.size >= 100) seen.clear();
    seen.set(error.message, { reportedAt: at, leftOut: 0 });
    report(error, entry?.leftOut ?? 0);
  };
}
