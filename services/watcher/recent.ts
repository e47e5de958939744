import type { ChatServer } from '#shared/settings/environment.js';
import type { Accepted } from './deliveries.ts';

/**
 * The deliveries that were answered 2xx lately. A failover of Redis may lose the last second of what it had confirmed; the
 * senders will not repeat those, so this watcher does, after each new connection. Marks in Redis make it a repeat of a
 * delivery like any other: what is there already is left as it is.
 */
export interface Recent {
  add(accepted: Accepted): void;
  /** Oldest first. */
  all(): Accepted[];
}

/** Sentinels take up to about a minute to agree; until then a master that was cut off goes on confirming what is lost then. */
const KEEP_MS = 120_000;
/** About 10 MB; a burst above it keeps the newest. */
const MOST = 10_000;

/** @param now monotonic milliseconds */
export function createRecent({ keepMs = KEEP_MS, most = MOST, now = () => performance.now() } = {}): Recent {
  // By session and id, so that a delivery that is repeated stands once, where it came first.
  // As text: thousands of small objects that live for two minutes were a fifteenth of what a delivery cost.
  const kept = new Map<string, { server: ChatServer; rest: string; atMs: number }>();

  /** Only when something new was confirmed: what an outage began with must not grow too old in it. */
  function prune(): void {
    for (const [key, { atMs }] of kept) {
      if (now() - atMs <= keepMs && kept.size <= most) return;
      kept.delete(key);
    }
  }

  return {
    add({ server, ...rest }) {
      const key = `${server.id} ${rest.deliveryId}`;
      if (!kept.has(key)) kept.set(key, { server, rest: JSON.stringify(rest), atMs: now() });
      prune();
    },
    all: () =>
      [...kept.values()].map(({ server, rest }) => ({ server, ...(JSON.parse(rest) as Omit<Accepted, 'server'>) })),
  };
}
