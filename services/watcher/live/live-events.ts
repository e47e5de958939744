import type { Response } from 'express';
import { Problem } from '#shared/platform/problem.js';
import type { LiveFilter } from '#shared/trail/live-events.js';
import type { TrailReader } from '#shared/trail/reader.js';
import { isAfter, STREAM_START, type StreamId } from '#shared/trail/stream-id.js';
import { isLost, type TrailStream } from '#shared/trail/trail-stream.js';
import { needsRedis } from '../redis-away.ts';
import { LiveListener } from './listener.ts';

/** Proxies cut a silent stream after 30 s or 60 s. */
const HEARTBEAT_MS = 15_000;
const PAGE = 200;
const MAX_LISTENERS = 1_000;

export interface LiveParts {
  reader: TrailReader;
  /** On a client that fails fast. */
  stream: TrailStream;
  /** Redis time, epoch milliseconds. */
  now: () => Promise<number>;
  heartbeatMs?: number | undefined;
}

/** The event stream's peers in this process: all fed by one reader of Redis. */
export interface LiveEvents {
  /**
   * Makes the response a stream of events after `lastEventId` (without one: from now on). Nothing is missed and nothing told
   * twice, on whichever watcher the peer was before; where that cannot be promised, the peer gets a `reset`.
   * Throws {@link Problem} 503 where Redis is away or too many listen.
   */
  attach(res: Response, filter: LiveFilter, lastEventId: StreamId | undefined): Promise<void>;
  readonly listeners: number;
  /** Says goodbye to every peer; later ones are refused. */
  close(): void;
}

export function createLiveEvents({ reader, stream, now, heartbeatMs = HEARTBEAT_MS }: LiveParts): LiveEvents {
  const peers = new Set<LiveListener>();
  let closed = false;
  let unlisten: (() => void) | undefined;
  let beating: NodeJS.Timeout | undefined;

  /** Peers that are still catching up are in `catching`, and not told by the reader. */
  const catching = new Set<LiveListener>();

  function begin(): void {
    beating ??= setInterval(() => {
      for (const peer of [...peers, ...catching]) peer.heartbeat();
    }, heartbeatMs);
    unlisten ??= reader.listen({
      line: (line) => {
        for (const peer of peers) peer.tell(line);
      },
      lost: () => {
        for (const peer of peers) peer.reset(reader.position ?? STREAM_START);
      },
    });
  }

  function forget(peer: LiveListener): void {
    peers.delete(peer);
    catching.delete(peer);
    if (peers.size + catching.size > 0) return;
    clearInterval(beating);
    beating = undefined;
    unlisten?.();
    unlisten = undefined;
  }

  /** Reads on from Redis until the peer knows what the reader has told; then, in the same step, it joins the others. */
  async function catchUp(peer: LiveListener): Promise<void> {
    while (!peer.ended) {
      const position = reader.position ?? STREAM_START;
      if (!isAfter(position, peer.told)) {
        catching.delete(peer);
        peers.add(peer);
        return;
      }
      const lines = await stream.after(peer.told, PAGE);
      if (lines.length === 0) peer.reset(position); // trimmed away, or lost, at this moment
      for (const line of lines) {
        peer.tell(line);
        await peer.drained(); // at the peer's own pace: what is old can wait
      }
    }
  }

  async function attach(res: Response, filter: LiveFilter, lastEventId: StreamId | undefined): Promise<void> {
    if (closed) throw unavailable('stopping', 'This watcher stops; come again.');
    if (peers.size + catching.size >= MAX_LISTENERS) {
      throw unavailable('too_many_listeners', `${MAX_LISTENERS} listeners are taken here; come again later.`);
    }
    const [position, extent, nowMs] = await needsRedis(() => Promise.all([reader.started(), stream.extent(), now()]));
    const from = lastEventId ?? reader.position ?? position;
    const lost = lastEventId !== undefined && isLost(lastEventId, extent);
    const peer = new LiveListener(res, filter, lost ? (reader.position ?? position) : from);
    if (closed || res.destroyed) return void res.destroy();
    catching.add(peer);
    peer.onEnd(() => forget(peer));
    begin();
    res.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    });
    peer.open(nowMs);
    if (lost) peer.reset(peer.told);
    await catchUp(peer).catch(() => peer.close());
  }

  return {
    attach,
    get listeners() {
      return peers.size + catching.size;
    },
    close() {
      closed = true;
      for (const peer of [...peers, ...catching]) peer.close();
    },
  };
}

function unavailable(code: string, detail: string): Problem {
  return new Problem({ status: 503, code, detail, retryAfterS: 1 });
}
