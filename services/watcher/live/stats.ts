import type { TrailReader } from '#shared/trail/reader.js';
import { isAfter, STREAM_START, streamIdMs, type StreamId } from '#shared/trail/stream-id.js';
import type { TrailStream } from '#shared/trail/trail-stream.js';
import { needsRedis } from '../redis-away.ts';
import { COUNTED, Tally, WINDOWS, type Counts, type WindowName } from './tally.ts';

export interface StatsParts {
  reader: TrailReader;
  stream: TrailStream;
  now: () => Promise<number>;
}

/** Answer of `GET /v1/stats`. Times are epoch milliseconds. */
export interface StatsAnswer {
  window: WindowName;
  bucketMs: number;
  /** Before this the trail has been trimmed; `null`: nothing is missing. */
  incompleteBeforeMs: number | null;
  totals: Counts;
  buckets: ({ atMs: number } & Counts)[];
}

export interface Stats {
  /** Throws {@link Problem} 503 where Redis is away. */
  over(window: WindowName): Promise<StatsAnswer>;
}

const PAGE = 1_000;
/** The whole trail, 20,000 lines, takes a good tenth of a second; only the first request waits for it. */
const FIRST_READ_MS = 5_000;

/** Counts the trail: read once, then told on by the reader like everybody else. */
export function createStats({ reader, stream, now }: StatsParts): Stats {
  const tally = new Tally();
  let told: StreamId = STREAM_START;
  let counting: Promise<void> | undefined;

  const count = (line: Parameters<Tally['add']>[0]): void => {
    if (!isAfter(line.id, told)) return;
    told = line.id;
    tally.add(line);
  };

  async function readAll(): Promise<void> {
    const position = await reader.started();
    told = STREAM_START;
    tally.clear();
    while (isAfter(reader.position ?? position, told)) {
      const lines = await stream.after(told, PAGE);
      if (lines.length === 0) break;
      for (const line of lines) count(line);
    }
    reader.listen({
      line: count,
      lost: () => {
        tally.clear();
        told = reader.position ?? STREAM_START;
      },
    });
  }

  const begun = (): Promise<void> => {
    counting ??= readAll().catch((error: unknown) => {
      counting = undefined;
      throw error;
    });
    return counting;
  };

  return {
    async over(window) {
      await needsRedis(begun, FIRST_READ_MS);
      const [nowMs, { first, whole }] = await needsRedis(() => Promise.all([now(), stream.extent()]));
      const buckets = tally.buckets(window, nowMs);
      return {
        window,
        bucketMs: WINDOWS[window].bucketMs,
        incompleteBeforeMs: whole || first === undefined ? null : streamIdMs(first),
        totals: totalsOf(buckets),
        buckets,
      };
    },
  };
}

function totalsOf(buckets: readonly Counts[]): Counts {
  const totals: Counts = { hangs: 0, nudges: 0, recoveries: 0 };
  for (const bucket of buckets) for (const what of COUNTED) totals[what] += bucket[what];
  return totals;
}
