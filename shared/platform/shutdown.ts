import closeWithGrace from 'close-with-grace';
import type { Logger } from './logger.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/**
 * Ctrl-C below `npm run` arrives twice: once from the terminal, once passed on by npm. What comes this soon is the same
 * wish, not an impatient second one.
 */
const SAME_SIGNAL_WITHIN_MS = 500;

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
 * named in a warning) or a second signal after half a second (which ends the process at once).
 */
export function runUntilStopped({ logger, deadlineMs, stop }: RunOptions): Stopper {
  const state: State = { begun: false, failed: false, signal: undefined, signalAt: 0 };
  // close-with-grace ends the process at its own deadline without a word: ours comes a moment before it.
  const options = { delay: deadlineMs + 100, logger: false as const, skip: [...STOP_SIGNALS] };
  const grace = closeWithGrace(options, async ({ err }) => {
    state.begun = true;
    if (err !== undefined) logger.fatal({ err }, 'Uncaught error: stopping.');
    else logger.info({ signal: state.signal }, 'Stopping.');
    await stopAll({ logger, deadlineMs, stop });
    if (state.failed) process.exit(1);
  });
  const stopOnce = (): void => {
    if (!state.begun) grace.close();
  };
  for (const name of STOP_SIGNALS) process.on(name, () => onSignal(name, state, stopOnce));
  // A supervisor that was killed cannot tell its children: the broken channel does. It must not keep us alive.
  process.once('disconnect', stopOnce);
  process.channel?.unref();
  return {
    stop: stopOnce,
    fail: () => {
      state.failed = true;
      stopOnce();
    },
  };
}

interface State {
  begun: boolean;
  failed: boolean;
  /** The first signal, and when it came (monotonic). */
  signal: string | undefined;
  signalAt: number;
}

function onSignal(name: string, state: State, stopOnce: () => void): void {
  if (state.signal === undefined) {
    state.signal = name;
    state.signalAt = performance.now();
    stopOnce();
  } else if (performance.now() - state.signalAt > SAME_SIGNAL_WITHIN_MS) {
    process.exit(1);
  }
}

async function stopAll({ logger, deadlineMs, stop }: RunOptions): Promise<void> {
  const left = new Set<string>();
  const step: StopStep = async (name, run) => {
    left.add(name);
    await run();
    left.delete(name);
  };
  const warn = setTimeout(() => {
    logger.warn({ deadlineMs, left: [...left] }, 'Not everything ended in time.');
  }, deadlineMs);
  try {
    await stop(step);
    logger.info({}, 'Stopped.');
  } catch (error) {
    logger.error({ err: error, left: [...left] }, 'Stopping failed.');
    throw error;
  } finally {
    clearTimeout(warn);
  }
}
