import closeWithGrace from 'close-with-grace';
import type { Logger } from './logger.ts';

/** Runs one named step of a shutdown; the name is what the deadline's warning says where the step does not end. */
export type StopStep = (name: string, run: () => Promise<void> | void) => Promise<void>;

export interface RunOptions {
  logger: Logger;
  /** How long `stop` may take before the process ends anyway. */
  deadlineMs: number;
  /** Ends everything, in order, each part through `step`. Called at most once. */
  stop: (step: StopStep) => Promise<void>;
}

/** Ends the process from inside, as a signal would. */
export interface Stopper {
  stop(): void;
  /** The same, and the exit status is 1. */
  fail(): void;
}

/**
 * Ends the process well: on SIGTERM, SIGINT or a like signal, on an uncaught error or rejection, on `stop()` or `fail()` of
 * what is returned, and, for a process with a channel to its parent, when the parent is gone.
 *
 * Exit status 0 after a clean stop; 1 after `fail()`, an error, a stop that failed, one past its deadline (what was left is
 * named in a warning) or a second signal (which ends the process at once).
 */
export function runUntilStopped({ logger, deadlineMs, stop }: RunOptions): Stopper {
  const left = new Set<string>();
  let failed = false;
  let begun = false;
  const step: StopStep = async (name, run) => {
    left.add(name);
    await run();
    left.delete(name);
  };
  // close-with-grace ends the process at its own deadline without a word: ours comes a moment before it.
  const graceMs = deadlineMs + 100;
  const grace = closeWithGrace({ delay: graceMs, logger: false }, async ({ signal, err }) => {
    begun = true;
    if (err !== undefined) logger.fatal({ err }, 'Uncaught error: stopping.');
    else logger.info({ signal }, 'Stopping.');
    const warn = setTimeout(() => {
      logger.warn({ deadlineMs, left: [...left] }, 'Not everything ended in time.');
    }, deadlineMs);
    try {
      await stop(step);
      logger.info({}, 'Stopped.');
      if (failed) process.exit(1);
    } catch (error) {
      logger.error({ err: error, left: [...left] }, 'Stopping failed.');
      throw error;
    } finally {
      clearTimeout(warn);
    }
  });
  // A supervisor that was killed cannot tell its children: the broken channel does. It must not keep us alive.
  process.channel?.unref();
  const stopOnce = (): void => {
    if (!begun) grace.close();
  };
  process.once('disconnect', stopOnce);
  return {
    stop: stopOnce,
    fail: () => {
      failed = true;
      stopOnce();
    },
  };
}
