import { catchUp } from './catch-up.ts';
import { isRedisAway } from './redis-away.ts';
import { settingsChanged } from './settings-change.ts';
import { sweepOnce, type SweepParts } from './sweep.ts';

/** What the watcher does without being asked: catch-up, sweep, looks that are owed, changed settings. */
export interface Background {
  /** Resolves once the catch-up of this start has been done (tests wait for it). */
  readonly caughtUp: Promise<void>;
  /** Sweeps now instead of at the next tick. */
  sweepNow(): Promise<void>;
  stop(): Promise<void>;
}

/** A due step is found at most so much late; one cheap call each. */
const SWEEP_EVERY_MS = 1_000;
/** How often armed sessions are counted for the metric. */
const COUNT_EVERY_MS = 15_000;

export interface BackgroundOptions {
  sweepEveryMs?: number;
  /** Told the number of armed sessions now and then. */
  onArmed?: (count: number) => void;
}

export function startBackground(parts: SweepParts, options: BackgroundOptions = {}): Background {
  const { core, transcripts } = parts;
  const stopping = new AbortController();
  const work = new Set<Promise<void>>();
  let sweeping: Promise<void> | undefined;
  let caughtUp = false;
  let countedAtMs = -Infinity;
  let markCaughtUp = (): void => undefined;
  const caughtUpOnce = new Promise<void>((resolve) => {
    markCaughtUp = resolve;
  });

  /** Runs one part; a failure is counted and left to the next tick. `true`: it went through. */
  async function attempt(part: string, run: () => Promise<unknown>): Promise<boolean> {
    try {
      await run();
      return true;
    } catch (error) {
      core.count('background_failures_total', { part });
      if (isRedisAway(error)) core.log.debug({ part, err: error }, 'Redis is away: tried again.');
      else core.log.error({ part, err: error }, 'A part of the watcher’s own work failed; tried again.');
      return false;
    }
  }

  async function oneRound(): Promise<void> {
    transcripts.tick();
    if (!caughtUp) {
      caughtUp = await attempt('catch-up', async () => {
        const count = await catchUp(parts, stopping.signal);
        core.log.info({ sessions: count }, 'Caught up with the armed sessions.');
      });
      if (!caughtUp) return;
      markCaughtUp();
    }
    await attempt('sweep', () => sweepOnce(parts));
    await countArmed();
  }

  async function countArmed(): Promise<void> {
    if (options.onArmed === undefined || performance.now() - countedAtMs < COUNT_EVERY_MS) return;
    countedAtMs = performance.now();
    await attempt('count', async () => options.onArmed?.((await core.store.counts()).armed));
  }

  function sweepNow(): Promise<void> {
    sweeping ??= oneRound().finally(() => {
      sweeping = undefined;
    });
    return sweeping;
  }

  const owedChanges: Parameters<typeof settingsChanged>[1][] = [];
  async function takeChanges(): Promise<void> {
    for (let change = owedChanges[0]; change !== undefined && !stopping.signal.aborted; change = owedChanges[0]) {
      const current = change;
      if (!(await attempt('settings', () => settingsChanged(parts, current)))) return;
      owedChanges.shift();
    }
  }
  const track = (promise: Promise<void>): void => {
    work.add(promise);
    void promise.finally(() => work.delete(promise));
  };
  let taking = false;
  const wake = (): void => {
    if (taking || owedChanges.length === 0) return;
    taking = true;
    track(
      takeChanges().finally(() => {
        taking = false;
      }),
    );
  };
  const unsubscribe = core.recovery.onChange((change) => {
    owedChanges.push(change);
    wake();
  });

  const timer = setInterval(() => {
    wake();
    track(sweepNow());
  }, options.sweepEveryMs ?? SWEEP_EVERY_MS);
  track(sweepNow());

  return {
    caughtUp: caughtUpOnce,
    sweepNow,
    async stop() {
      stopping.abort();
      clearInterval(timer);
      unsubscribe();
      await Promise.all(work);
    },
  };
}
