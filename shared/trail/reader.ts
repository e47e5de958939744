import { withDeadline } from '#shared/platform/deadline.js';
import type { RedisClient } from '#shared/platform/redis.js';
import { isAfter, type StreamId } from './stream-id.ts';
import type { TrailLine, TrailStream } from './trail-stream.ts';

/** Longer than this no single read blocks: below the client's 15 s for a socket that is dead without a word. */
const BLOCK_MS = 5_000;
const BATCH = 500;
const PAUSE_AFTER_ERROR_MS = 1_000;
const END_WITHIN_MS = 500;

/** Told every entry, in order, on the reader's own turn: it must not throw and must not wait. */
export interface TrailListener {
  line(line: TrailLine): void;
  /** The stream was lost (Redis came back without it): what is known from before may be wrong. */
  lost(): void;
}

/**
 * The one reader of the trail in a process, however many listen: a blocking read on a connection of its own, told on in
 * memory. It begins with the first listener and goes on until closed; through a Redis that is away it waits.
 */
export interface TrailReader {
  /** Newest id that listeners have been told (or that stood before the first); rejects where Redis is not there. */
  started(): Promise<StreamId>;
  readonly position: StreamId | undefined;
  /** Listens from `position` on. Returns its own remover. Call it after {@link started}. */
  listen(listener: TrailListener): () => void;
  close(): Promise<void>;
}

export interface TrailReaderParts {
  /** Makes the connection for blocking reads, once, when the first listener comes. */
  connect: () => { client: RedisClient; stream: TrailStream };
  /** For the question where to begin: a client that fails fast. */
  stream: TrailStream;
  onError: (error: Error) => void;
}

export function createTrailReader({ connect, stream, onError }: TrailReaderParts): TrailReader {
  const listeners = new Set<TrailListener>();
  const stopping = new AbortController();
  let position: StreamId | undefined;
  let starting: Promise<StreamId> | undefined;
  let blocking: ReturnType<typeof connect> | undefined;
  let loop: Promise<void> | undefined;

  const tell = (lines: readonly TrailLine[]): void => {
    for (const line of lines) {
      position = line.id;
      for (const listener of listeners) listener.line(line);
    }
  };

  /** A stream that Redis lost, and perhaps began anew, would leave the reader waiting for ids that never come. */
  async function checkLost(): Promise<void> {
    const { last } = await stream.extent();
    if (position === undefined || !isAfter(position, last)) return;
    position = last;
    for (const listener of listeners) listener.lost();
  }

  async function follow(from: TrailStream): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        const lines = await from.next(position ?? '$', BATCH, BLOCK_MS);
        tell(lines);
        if (lines.length === 0) await checkLost();
      } catch (error) {
        if (stopping.signal.aborted) return;
        onError(error instanceof Error ? error : new Error(String(error)));
        await pause(PAUSE_AFTER_ERROR_MS, stopping.signal);
      }
    }
  }

  async function start(): Promise<StreamId> {
    const { last } = await stream.extent();
    if (stopping.signal.aborted) throw new Error('Connection is closed.');
    position = last;
    blocking = connect();
    loop = follow(blocking.stream);
    return last;
  }

  return {
    started() {
      starting ??= start().catch((error: unknown) => {
        starting = undefined; // Redis may be there the next time
        throw error;
      });
      return starting;
    },
    get position() {
      return position;
    },
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      stopping.abort();
      listeners.clear();
      if (blocking !== undefined) await cut(blocking.client);
      await loop;
    },
  };
}

/** Not `quit`: that would wait behind the read that blocks. */
async function cut(client: RedisClient): Promise<void> {
  if (client.status === 'end') return;
  const ended = new Promise<void>((resolve) => client.once('end', () => resolve()));
  client.disconnect();
  // Between two connections there is nothing to end, and ioredis tells no `end` then.
  await withDeadline(ended, END_WITHIN_MS, 'Closing').catch(() => undefined);
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end);
  });
}
