import { setTimeout as sleep } from 'node:timers/promises';
import type { Running } from './child.ts';

const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 30_000;
/** What ran this long was well: the next failure is a first one again. */
const STEADY_AFTER_MS = 60_000;

/** 0.5 s, 1 s, 2 s, 4 s … 30 s. */
export function restartDelayMs(failures: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** Math.max(failures - 1, 0), LONGEST_DELAY_MS);
}

export interface KeepOptions {
  /** For people. */
  name: string;
  /** Starts it and resolves once it works; rejects where it does not come up. */
  start: () => Promise<Running>;
  say: (sentence: string) => void;
  /** Told whenever another process runs under this name, and with `undefined` when none does. */
  onPid?: (pid: number | undefined) => void;
}

/** Something that is started again whenever it ends, until `stop`. */
export interface Kept {
  stop(): Promise<void>;
}

/** Starts it and keeps it running. Rejects where already the first start fails: that is for the caller to see. */
export async function keepRunning(options: KeepOptions): Promise<Kept> {
  const { name, start, say, onPid } = options;
  const stopped = new AbortController();
  let current = await start();
  onPid?.(current.pid);

  const again = async (): Promise<Running> => {
    try {
      return await start();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { pid: undefined, ended: Promise.resolve(why), stop: async () => undefined };
    }
  };
  const keep = async (): Promise<void> => {
    let failures = 0;
    while (true) {
      const startedAt = performance.now();
      const how = await current.ended;
      onPid?.(undefined);
      if (stopped.signal.aborted) return;
      failures = performance.now() - startedAt > STEADY_AFTER_MS ? 1 : failures + 1;
      const delayMs = restartDelayMs(failures);
      say(`${name} ended (${how}); it is started again in ${delayMs / 1_000} s.`);
      await sleep(delayMs, undefined, { signal: stopped.signal }).catch(() => undefined);
      if (stopped.signal.aborted) return;
      current = await again();
      onPid?.(current.pid);
      // `stop` may have come while it was coming up.
      if (stopped.signal.aborted) await current.stop();
    }
  };
  const kept = keep();
  return {
    async stop() {
      stopped.abort();
      await current.stop();
      await kept;
    },
  };
}
