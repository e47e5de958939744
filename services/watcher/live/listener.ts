import type { Response } from 'express';
import { wanted, type LiveFilter } from '#shared/trail/live-events.js';
import { isAfter, type StreamId } from '#shared/trail/stream-id.js';
import type { TrailLine } from '#shared/trail/trail-stream.js';
import { controlFrame, HEARTBEAT, trailFrame } from './frames.ts';

/** Written and not yet taken by the peer: more than this and it is dropped. About 1,000 events. */
const MAX_WAITING_BYTES = 256 * 1024;
/** A peer that was told why it is dropped has so long to take that in. */
const GOODBYE_MS = 2_000;

/** One peer of the event stream: writes frames, skips what was told already, and gives up on a peer that does not keep up. */
export class LiveListener {
  readonly #res: Response;
  readonly #filter: LiveFilter;
  /** Newest id that this peer has been told of, wanted or not. */
  #told: StreamId;
  #ended = false;

  constructor(res: Response, filter: LiveFilter, from: StreamId) {
    this.#res = res;
    this.#filter = filter;
    this.#told = from;
  }

  get told(): StreamId {
    return this.#told;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Calls back once the peer is gone or was sent away. */
  onEnd(then: () => void): void {
    this.#res.once('close', () => {
      this.#ended = true;
      then();
    });
  }

  tell({ id, entry }: TrailLine): void {
    if (this.#ended || !isAfter(id, this.#told)) return;
    this.#told = id;
    if (entry !== undefined && wanted(this.#filter, entry)) this.#write(trailFrame(id, entry));
  }

  open(nowMs: number): void {
    this.#write(`retry: 1000\n${controlFrame('open', { nowMs }, this.#told)}`);
  }

  /** What this peer knows may be wrong; from `id` on it is told everything again. */
  reset(id: StreamId): void {
    this.#told = id;
    this.#write(controlFrame('reset', { reason: 'Events before this may be missing: read everything anew.' }, id));
  }

  heartbeat(): void {
    this.#write(HEARTBEAT);
  }

  /** The process stops. */
  close(): void {
    this.#end(controlFrame('closing', { reason: 'This watcher stops; come again.' }));
  }

  /** Resolves when the peer has taken what was written, or is gone. */
  async drained(): Promise<void> {
    if (this.#ended || !this.#res.writableNeedDrain) return;
    await new Promise<void>((resolve) => {
      const settle = (): void => {
        this.#res.off('drain', settle);
        this.#res.off('close', settle);
        resolve();
      };
      this.#res.on('drain', settle);
      this.#res.on('close', settle);
    });
  }

  #write(text: string): void {
    if (this.#ended) return;
    if (this.#res.writableLength > MAX_WAITING_BYTES) {
      this.#end(
        controlFrame('dropped', { reason: 'Events came faster than you took them; come again with your last id.' }),
      );
      return;
    }
    this.#res.write(text);
  }

  #end(frame: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#res.end(frame);
    const cut = setTimeout(() => this.#res.destroy(), GOODBYE_MS);
    this.#res.once('close', () => clearTimeout(cut));
  }
}
