import { hostname } from 'node:os';
import { randomUUID } from 'node:crypto';
import { withDeadline } from '#shared/platform/deadline.js';
import type { Logger } from '#shared/platform/logger.js';
import type { Pulse, QueueState } from '#shared/queue/pulse.js';
import type { RecoveryQueue } from '#shared/queue/queue.js';
import { createHearing } from './hearing.ts';

/** What the self-check watches and may replace. */
export interface Checked {
  concurrency: number;
  active(): number;
  onTaken(listener: () => void): void;
  /** Puts a new listener on new connections in the place of the deaf one. */
  restart(): void;
}

export interface SelfCheckOptions {
  pulse: Pulse;
  worker: Checked;
  queue: Pick<RecoveryQueue, 'free'>;
  logger: Logger;
  /** Replacing it did not help: the process is to end, so that its supervisor starts another. */
  onHopeless: () => void;
  tuning?: SelfCheckTuning | undefined;
}

export interface SelfCheckTuning {
  /** How often it shows itself and looks; 5 s. */
  everyMs?: number;
  /** 20 s: BullMQ's own watchdog gives a blocking read up after 11 s, and a dead socket is given up after 15 s. */
  deafAfterMs?: number;
}

export interface SelfCheck {
  /** As `workersAlive` counts it: `host:pid:random`. */
  readonly id: string;
  stop(): Promise<void>;
}

const EVERY_MS = 5_000;
const DEAF_AFTER_MS = 20_000;
/** Later than this a delayed job is overdue by Redis' clock and is made due by hand, whatever keeps the workers from it. */
const LATE_MS = 2_000;
/** Beats that may be missed before a worker counts as gone. */
const BEATS = 4;
const RESTARTS = 2;
const LEAVE_WITHIN_MS = 500;
/**
 * A worker shows itself in Redis as long as it hears its queue. A deaf one is replaced inside the process, which keeps jobs
 * under way; if two replacements in a row do not help, the process ends. Redis being away is no deafness. Delayed jobs that
 * are overdue by Redis' clock are freed: BullMQ goes by each worker's own, which may be behind.
 */
export function startSelfCheck({ pulse, worker, queue, logger, onHopeless, tuning = {} }: SelfCheckOptions): SelfCheck {
  const { everyMs = EVERY_MS, deafAfterMs = DEAF_AFTER_MS } = tuning;
  const id = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  const hearing = createHearing(deafAfterMs);
  let restarts = 0;
  let deaf = false;
  let clockIsOff = false;
  let checking: Promise<void> | undefined;
  const well = (): void => {
    restarts = 0;
    deaf = false;
  };
  worker.onTaken(() => {
    hearing.took();
    well();
  });

  async function check(): Promise<void> {
    // A deaf worker is looked after, but does not count as alive.
    const state = await withDeadline(
      deaf ? pulse.look() : pulse.beat(id, everyMs * BEATS),
      everyMs * BEATS,
      'the pulse',
    );
    tellOfClock(state);
    if (state.overdueMs >= LATE_MS && !state.paused) await queue.free(state.overdue);
    const verdict = hearing.judge(state, { active: worker.active(), concurrency: worker.concurrency });
    if (verdict === 'fine') well();
    if (verdict !== 'deaf') return;
    const { overdue, overdueMs, waiting } = state;
    deaf = true;
    hearing.reset();
    if (restarts === RESTARTS) {
      logger.fatal({ overdue, overdueMs, waiting }, 'Due jobs are still not taken: this process ends.');
      onHopeless();
      return;
    }
    restarts += 1;
    logger.error({ overdue, overdueMs, waiting, restarts }, 'Due jobs are not taken: the worker listens anew.');
    worker.restart();
  }

  /** Once for each change: BullMQ takes a job for due by the worker's own clock. */
  function tellOfClock({ nowMs }: QueueState): void {
    const offMs = Date.now() - nowMs;
    const isOff = Math.abs(offMs) >= LATE_MS;
    if (isOff && !clockIsOff)
      logger.warn({ offMs }, 'The clock of this machine differs from that of Redis: jobs start late.');
    clockIsOff = isOff;
  }

  function tick(): void {
    checking ??= check()
      // Redis is away: its own client says so, and everybody waits for it.
      .catch((err: unknown) => logger.debug({ err }, 'The queue could not be looked at.'))
      .finally(() => {
        checking = undefined;
      });
  }
  tick();
  const timer = setInterval(tick, everyMs);

  return {
    id,
    async stop() {
      clearInterval(timer);
      const left = Promise.all([checking, pulse.leave(id)]);
      await withDeadline(left, LEAVE_WITHIN_MS, 'the pulse').catch((err: unknown) =>
        logger.debug({ err }, 'This worker could not say that it goes.'),
      );
    },
  };
}
