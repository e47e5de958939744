import { catchUp } from './catch-up.ts';
import type { Log } from './ports.ts';
import { isRedisAway } from './redis-away.ts';
import { settingsChanged, type Change } from './settings-change.ts';
import { BATCH, sweepOnce, type SweepParts } from './sweep.ts';

/** What the watcher does without being asked: catch-up, sweep, looks that are owed, changed settings. */
export interface Background {
  /** Resolves once the catch-up of this start has been done (tests wait for it). */
  readonly caughtUp: Promise<void>;
  /** Does a whole round now instead of at the next tick, after the one that may be under way. */
  sweepNow(): Promise<void>;
  stop(): Promise<void>;
}

export interface BackgroundOptions {
  /** A due step is found at most so much late; one cheap call each. 1 s. */
  sweepEveryMs?: number;
  /** Told the number of armed sessions now and then. */
  onArmed?: (count: number) => void;
  /** Refreshes the gauges of queue and workers. */
  lookAtQueue?: () => Promise<unknown>;
}

/** How often armed sessions are counted for the metric: the count costs a call per known session. */
const COUNT_EVERY_MS = 60_000;
const LOOK_AT_QUEUE_EVERY_MS = 5_000;

export function startBackground(parts: SweepParts, options: BackgroundOptions = {}): Background {
  const stopping = new AbortController();
  const caughtUp = once((): void => undefined);
  const changes: Change[] = [];
  const countArmed = everyMs(COUNT_EVERY_MS, async () => options.onArmed?.(await parts.core.store.armedCount()));
  const lookAtQueue = everyMs(LOOK_AT_QUEUE_EVERY_MS, async () => void (await options.lookAtQueue?.()));
  let round: Promise<void> | undefined;
  let next: Promise<void> | undefined;

  /** A failure of one part is counted, holds up no other, and is left to the next round. */
  async function attempt(part: string, run: () => Promise<unknown>): Promise<boolean> {
    try {
      await run();
      return true;
    } catch (error) {
      parts.core.count('background_failures_total', { part });
      report(parts.core.log, part, error);
      return false;
    }
  }

  /** After a burst of turn ends thousands of steps are due at once: batch after batch, not one a second. */
  async function sweepAll(): Promise<void> {
    let taken = BATCH;
    while (taken === BATCH && !stopping.signal.aborted) taken = await sweepOnce(parts);
  }

  async function takeChanges(): Promise<void> {
    for (let change = changes[0]; change !== undefined; change = changes[0]) {
      await settingsChanged(parts, change);
      changes.shift();
    }
  }

  async function oneRound(): Promise<void> {
    parts.transcripts.tick();
    if (!caughtUp.done) {
      if (!(await attempt('catch-up', () => catchUp(parts, stopping.signal)))) return;
      caughtUp.mark();
    }
    await attempt('settings', takeChanges);
    await attempt('sweep', sweepAll);
    if (options.onArmed !== undefined) await attempt('count', countArmed);
    await attempt('queue', lookAtQueue);
  }

  function sweepNow(): Promise<void> {
    if (stopping.signal.aborted) return Promise.resolve();
    if (round !== undefined) return (next ??= round.then(follow));
    round = oneRound().finally(() => {
      round = undefined;
    });
    return round;
  }

  function follow(): Promise<void> {
    next = undefined;
    return sweepNow();
  }

  const unsubscribe = parts.core.recovery.onChange((change) => {
    changes.push(change);
    void sweepNow();
  });
  const timer = setInterval(() => void sweepNow(), options.sweepEveryMs ?? 1_000);
  void sweepNow();

  return {
    caughtUp: caughtUp.promise,
    sweepNow,
    async stop() {
      stopping.abort();
      clearInterval(timer);
      unsubscribe();
      await next;
      await round;
    },
  };
}

function report(log: Log, part: string, err: unknown): void {
  if (isRedisAway(err)) log.debug({ part, err }, 'Redis is away: tried again.');
  else log.error({ part, err }, 'A part of the watcher’s own work failed; tried again.');
}

/** A promise and the way to resolve it. */
function once(nothing: () => void) {
  const state = { done: false, mark: nothing };
  const promise = new Promise<void>((resolve) => {
    state.mark = () => {
      state.done = true;
      resolve();
    };
  });
  return Object.assign(state, { promise });
}

/** Runs at most once in so many milliseconds; the first time at once. */
function everyMs(intervalMs: number, run: () => Promise<void>): () => Promise<void> {
  let lastMs = -Infinity;
  return async () => {
    if (performance.now() - lastMs < intervalMs) return;
    lastMs = performance.now();
    await run();
  };
}
