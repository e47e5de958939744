import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '#shared/platform/problem.js';
import type { Log } from '../ports.ts';
import { isRedisAway } from '../redis-away.ts';

/**
 * The way in for events that nobody outside keeps: per session one after the other, again while Redis is away.
 *
 * A chat server's webhook is repeated by its sender; what is heard on a socket is heard once, so it waits here. What a stop
 * of this process loses is found again by the sweep, as a webhook that was never sent would be.
 */
export interface Inlet {
  /** Does the work after all earlier work of the same session. */
  push(sessionId: string, work: () => Promise<void>, ends?: InletEnds): void;
  /** Waits for what is under way; what only waits is given up. */
  close(): Promise<void>;
}

/** What may become of work other than its being done. */
export interface InletEnds {
  refused?: (problem: Problem) => void;
  /** It waited too long, or too much waited before it. */
  lost?: () => void;
}

/** An hour of a busy Paddock; beyond it the oldest news is of least use. */
const MOST_WAITING = 10_000;
const RETRY_MS = 1_000;

/** @param giveUpAfterMs how long work is tried again; without it as long as this process runs */
export function createInlet(log: Log, retryMs = RETRY_MS, giveUpAfterMs = Infinity): Inlet {
  const chains = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  let waiting = 0;

  async function untilDone(sessionId: string, work: () => Promise<void>, ends: InletEnds, untilMs: number) {
    // Once also while this process stops: what had only waited behind other work is then not lost.
    do {
      try {
        return await work();
      } catch (err) {
        if (err instanceof Problem) {
          if (ends.refused === undefined) log.warn({ sessionId, err }, 'An event was refused.');
          else ends.refused(err);
          return;
        }
        if (!isRedisAway(err)) return log.error({ sessionId, err }, 'An event could not be recorded.');
        log.debug({ sessionId, err }, 'Redis is away: the event is recorded later.');
        await sleep(retryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
      }
    } while (!stopping.signal.aborted && performance.now() < untilMs);
    if (stopping.signal.aborted) return;
    log.warn({ sessionId }, 'An event could not be recorded in time: it is left to the sweep.');
    ends.lost?.();
  }

  return {
    push(sessionId, work, ends = {}) {
      if (waiting >= MOST_WAITING || stopping.signal.aborted) {
        log.warn({ sessionId, waiting }, 'Too many events wait: this one is left to the sweep.');
        ends.lost?.();
        return;
      }
      waiting += 1;
      const untilMs = performance.now() + giveUpAfterMs;
      const chain = (chains.get(sessionId) ?? Promise.resolve())
        .then(() => untilDone(sessionId, work, ends, untilMs))
        .finally(() => {
          waiting -= 1;
          if (chains.get(sessionId) === chain) chains.delete(sessionId);
        });
      chains.set(sessionId, chain);
    },
    async close() {
      stopping.abort();
      await Promise.all(chains.values());
    },
  };
}
