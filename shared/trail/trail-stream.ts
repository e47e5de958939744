import type { RedisClient } from '#shared/platform/redis.js';
import type { TrailEntry } from './reasons.ts';
import { compareStreamIds, isAfter, STREAM_START, type StreamId } from './stream-id.ts';

/** One entry of the stream. */
export interface TrailLine {
  id: StreamId;
  /** `undefined`: it is none of ours or does not parse. It is passed over, and must not stop everybody's events. */
  entry: TrailEntry | undefined;
}

/** Where the stream begins and ends now. An empty or missing stream ends at {@link STREAM_START}. */
export interface TrailExtent {
  /** Oldest entry that is still there; `undefined`: none is. */
  first: StreamId | undefined;
  /** Newest id that was ever given. */
  last: StreamId;
  /** Nothing has been trimmed away yet. */
  whole: boolean;
}

type RawEntry = [id: string, fields: string[]];

/** Reads the trail's Redis stream. Throws the connection's error; never blocks but in `next`. */
export interface TrailStream {
  extent(): Promise<TrailExtent>;
  /** Up to `limit` entries after `id`, oldest first. */
  after(id: StreamId, limit: number): Promise<TrailLine[]>;
  /** Waits for entries after `id`, at most `blockMs`; empty where none came. Needs a client of its own. */
  next(id: StreamId, limit: number, blockMs: number): Promise<TrailLine[]>;
}

export function createTrailStream(redis: RedisClient, key: string): TrailStream {
  return {
    async extent() {
      const info = await infoOf(redis, key);
      if (info === undefined) return { first: undefined, last: STREAM_START, whole: true };
      const [first] = (info.get('first-entry') ?? []) as [string?];
      // Since Redis 7; where it is missing nobody can know.
      const whole = info.get('entries-added') === info.get('length');
      return { first, last: String(info.get('last-generated-id')), whole };
    },
    async after(id, limit) {
      return linesOf(await redis.xrange(key, `(${id}`, '+', 'COUNT', limit));
    },
    async next(id, limit, blockMs) {
      const answer = await redis.xread('COUNT', limit, 'BLOCK', blockMs, 'STREAMS', key, id);
      return linesOf(answer?.[0]?.[1] ?? []);
    },
  };
}

/**
 * Whether entries after `id` may be missing: older than what is left of a trimmed stream, or of a stream that is gone (Redis lost
 * it, or it expired).
 */
export function isLost(id: StreamId, { first, last, whole }: TrailExtent): boolean {
  if (compareStreamIds(id, last) > 0) return true;
  if (whole) return false;
  return first === undefined ? id !== last : isAfter(first, id);
}

/** `XINFO STREAM` as a map; `undefined` where there is no stream. */
async function infoOf(redis: RedisClient, key: string): Promise<Map<string, unknown> | undefined> {
  try {
    const flat = (await redis.xinfo('STREAM', key)) as unknown[];
    return new Map(flat.flatMap((name, at) => (at % 2 === 0 ? [[String(name), flat[at + 1]] as const] : [])));
  } catch (error) {
    if (error instanceof Error && error.message.includes('no such key')) return undefined;
    throw error;
  }
}

function linesOf(entries: readonly RawEntry[]): TrailLine[] {
  return entries.map(([id, fields]) => ({ id, entry: parsed(fields[fields.indexOf('e') + 1]) }));
}

function parsed(text: string | undefined): TrailEntry | undefined {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null && 'kind' in value ? (value as TrailEntry) : undefined;
  } catch {
    return undefined;
  }
}
