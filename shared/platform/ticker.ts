export interface TickerOptions {
  /** How often the clocks are looked at; 1 s. */
  intervalMs?: number;
  /** A lag above this is a gap; 10 s (SPEC §4, debounce). */
  gapMs?: number;
  /** Monotonic milliseconds. It stands still while the machine is suspended (CLOCK_MONOTONIC). */
  monotonicNow?: () => number;
  /** Wall clock, epoch milliseconds. It goes on while the machine is suspended. */
  wallNow?: () => number;
}

export interface Ticker {
  /** How long ago (monotonic milliseconds) this process was last found to have slept; `undefined`: never. */
  lastGapAgoMs(): number | undefined;
  /** Ends the tick. Idempotent. */
  stop(): void;
}

/**
 * Notices that this process or its host slept, so that a debounce is not taken for over because nobody was looking.
 *
 * Two signs: the tick came late on the monotonic clock (process stopped, virtual machine paused), or the wall clock ran
 * ahead of the monotonic one (suspend). A wall clock that was set back is no sign.
 */
export function createTicker({
  intervalMs = 1_000,
  gapMs = 10_000,
  monotonicNow = () => performance.now(),
  wallNow = () => Date.now(),
}: TickerOptions = {}): Ticker {
  let last = { monotonic: monotonicNow(), wall: wallNow() };
  let gapAt: number | undefined;

  const look = (): void => {
    const now = { monotonic: monotonicNow(), wall: wallNow() };
    const passed = now.monotonic - last.monotonic;
    const ahead = now.wall - last.wall - passed;
    if (passed - intervalMs > gapMs || ahead > gapMs) gapAt = now.monotonic;
    last = now;
  };
  const timer = setInterval(look, intervalMs);

  return {
    lastGapAgoMs() {
      // After a wake-up a job may run before the tick does: look first.
      look();
      return gapAt === undefined ? undefined : last.monotonic - gapAt;
    },
    stop: () => clearInterval(timer),
  };
}
