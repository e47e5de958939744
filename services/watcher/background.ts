import { catchUp } from './catch-up.ts';
import type { DeliveryParts } from './deliveries.ts';
import type { Log } from './ports.ts';
import { reconcile } from './reconcile.ts';
import { isRedisAway } from './redis-away.ts';
import { settingsChanged, type Change } from './settings-change.ts';
import { replayRecent } from './replay.ts';
import { BATCH, sweepOnce } from './sweep.ts';

/** What the watcher does without being asked: catch-up, sweep, reconciling, looks that are owed, changed settings. */
export interface Background {
  /** Resolves once the catch-up of this start has been done (tests wait for it). */
  readonly caughtUp: Promise<void>;
  /** Does a whole round now instead of at the next tick, after the one that may be under way. */
  sweepNow(): Promise<void>;
  /** There is a new connection to Redis: whatever it had confirmed lately may be lost, whatever it knows may have been missed. */
  reconnected(): void;
  stop(): Promise<void>;
}

export interface BackgroundOptions {
  /** A due step is found at most so much late; one cheap call each. 1 s. */
  sweepEveryMs?: number;
  /** Told the number of armed sessions now and then. */
  onArmed?: (count: number) => void;
  /** How often lost turn ends are looked for, and how long a transcript must be quiet for it; 60 s both. */
  reconcile?: { everyMs?: number; quietMs?: number };
  /** Refreshes the gauges of queue and workers. */
  lookAtQueue?: () => Promise<unknown>;
}

/** How often armed sessions are counted for the metric. */
const COUNT_EVERY_MS = 60_000;
const LOOK_AT_QUEUE_EVERY_MS = 5_000;
/** How often sessions whose turn's end may be lost are looked for. */
const RECONCILE_EVERY_MS = 60_000;
/** At the start and now and then by every record: a watcher of an earlier version may have taken a turn's beginning. */
const RECONCILE_ALL_EVERY = 30;

export function startBackground(parts: DeliveryParts, options: BackgroundOptions = {}): Background {
  const stopping = new AbortController();
  const caughtUp = once();
  const changes: Change[] = [];
  const countArmed = everyMs(COUNT_EVERY_MS, async () => options.onArmed?.(await parts.core.store.armedCount()));
  const reconcileNow = everyMs(options.reconcile?.everyMs ?? RECONCILE_EVERY_MS, async () => {
    const all = reconciled % RECONCILE_ALL_EVERY === 0;
    await reconcile(parts, { quietMs: options.reconcile?.quietMs, all });
    reconciled += 1;
  });
  const lookAtQueue = everyMs(LOOK_AT_QUEUE_EVERY_MS, async () => void (await options.lookAtQueue?.()));
  let reconciled = 0;
  let behind = true;
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

  /** What is lost comes first: a session that is not there cannot be looked at. */
  async function catchUpNow(): Promise<void> {
    behind = false;
    try {
      await parts.published.again();
      await replayRecent(parts, stopping.signal);
      await catchUp(parts, stopping.signal);
    } catch (error) {
      behind = true;
      throw error;
    }
    caughtUp.mark();
  }

  async function oneRound(): Promise<void> {
    parts.transcripts.tick();
    if (behind && !(await attempt('catch-up', catchUpNow))) return;
    await attempt('settings', takeChanges);
    await attempt('sweep', sweepAll);
    await attempt('reconcile', reconcileNow);
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
    reconnected() {
      behind = true;
      parts.transcripts.doubtAll();
      void sweepNow();
    },
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
function once() {
  const state = { mark: (): void => undefined };
  const promise = new Promise<void>((resolve) => {
    state.mark = resolve;
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
