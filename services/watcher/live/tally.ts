import type { TrailKind } from '#shared/trail/reasons.js';
import type { TrailLine } from '#shared/trail/trail-stream.js';
import { streamIdMs } from '#shared/trail/stream-id.js';

/** What is counted over time. */
export const COUNTED = ['hangs', 'nudges', 'recoveries'] as const;
export type Counted = (typeof COUNTED)[number];
export type Counts = Record<Counted, number>;

const KINDS: Partial<Record<TrailKind, Counted>> = {
  'killed-task': 'hangs',
  nudged: 'nudges',
  recovered: 'recoveries',
};

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** How far back one may look, and how wide a bucket is then. */
export const WINDOWS = {
  '1h': { spanMs: HOUR_MS, bucketMs: 2 * MINUTE_MS },
  '24h': { spanMs: 24 * HOUR_MS, bucketMs: 30 * MINUTE_MS },
  '7d': { spanMs: 7 * 24 * HOUR_MS, bucketMs: 4 * HOUR_MS },
} as const;
export type WindowName = keyof typeof WINDOWS;

const KEEP_MS = WINDOWS['7d'].spanMs;

/** Counts by minute, no more of them than seven days have. */
export class Tally {
  readonly #minutes = new Map<number, Counts>();

  add({ id, entry }: TrailLine): void {
    const what = entry === undefined ? undefined : KINDS[entry.kind];
    if (what === undefined) return;
    const minute = Math.floor(streamIdMs(id) / MINUTE_MS) * MINUTE_MS;
    const counts = this.#minutes.get(minute) ?? none();
    counts[what] += 1;
    this.#minutes.set(minute, counts);
    this.#forget(minute - KEEP_MS);
  }

  clear(): void {
    this.#minutes.clear();
  }

  /** Buckets of a window that ends with the one that holds `nowMs`, oldest first, empty ones too. */
  buckets(window: WindowName, nowMs: number): ({ atMs: number } & Counts)[] {
    const { spanMs, bucketMs } = WINDOWS[window];
    const end = Math.floor(nowMs / bucketMs) * bucketMs + bucketMs;
    const buckets = Array.from({ length: spanMs / bucketMs }, (_, at) => ({
      atMs: end - spanMs + at * bucketMs,
      ...none(),
    }));
    for (const [minute, counts] of this.#minutes) {
      const bucket = buckets[Math.floor((minute - (end - spanMs)) / bucketMs)];
      if (bucket !== undefined) for (const what of COUNTED) bucket[what] += counts[what];
    }
    return buckets;
  }

  /** The map is in order of time: the oldest come first. */
  #forget(beforeMs: number): void {
    for (const minute of this.#minutes.keys()) {
      if (minute >= beforeMs) return;
      this.#minutes.delete(minute);
    }
  }
}

const none = (): Counts => ({ hangs: 0, nudges: 0, recoveries: 0 });
