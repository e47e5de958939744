import { WebSocket } from 'undici';
import { backoffMs } from '../backoff.ts';
import type { DriverLog } from '../log.ts';
import { PaddockBoard, type PaddockChange } from './board.ts';
import { parseFrame, type ClientFrame, type ServerFrame } from './frames.ts';

export interface PaddockLinkOptions {
  /** Paddock's address, `http://…`; the socket is at `/ws` below it. */
  url: string;
  token: string | undefined;
  log: DriverLog;
  /** Beats of the connection; what a test may have quicker. */
  timing?: Partial<LinkTiming>;
}

export interface LinkTiming {
  pingEveryMs: number;
  /** Silence after which a connection counts as dead; each ping is answered. */
  deadAfterMs: number;
  reconnect: { baseMs: number; capMs: number; floorMs: number };
}

const TIMING: LinkTiming = {
  pingEveryMs: 20_000,
  deadAfterMs: 50_000,
  reconnect: { baseMs: 500, capMs: 30_000, floorMs: 100 },
};

export interface LinkListener {
  frame?(frame: ServerFrame): void;
  change?(change: PaddockChange): void;
  /** The connection is gone; what was said on it last may not have arrived. */
  lost?(): void;
}

/**
 * One WebSocket to a Paddock, kept up: connects at the first need, comes back by itself with growing waits, and knows what
 * every session is doing once the snapshot of a new connection is complete (the answer to a ping, which comes behind it).
 */
export class PaddockLink {
  readonly board = new PaddockBoard();
  readonly #options: PaddockLinkOptions;
  readonly #timing: LinkTiming;
  readonly #url: URL;
  readonly #listeners = new Set<LinkListener>();
  readonly #waiting = new Set<(error?: Error) => void>();
  #socket: WebSocket | undefined;
  #isSynced = false;
  #isClosed = false;
  #failures = 0;
  #heardMs = 0;
  #retry: NodeJS.Timeout | undefined;
  #beat: NodeJS.Timeout | undefined;

  /** Throws a `TypeError` for an address that is none. Opens nothing yet. */
  constructor(options: PaddockLinkOptions) {
    this.#options = options;
    this.#timing = { ...TIMING, ...options.timing };
    this.#url = new URL('ws', options.url.endsWith('/') ? options.url : `${options.url}/`);
    if (!/^https?:$/.test(this.#url.protocol)) throw new TypeError(`not an http address: ${options.url}`);
    this.#url.protocol = this.#url.protocol === 'https:' ? 'wss:' : 'ws:';
  }

  /** Connects, unless that is under way already. */
  start(): void {
    if (this.#socket === undefined && this.#retry === undefined && !this.#isClosed) this.#connect();
  }

  /** Resolves once the state of all sessions is known; rejects when it is not within the time. */
  async ready(timeoutMs: number, signal?: AbortSignal): Promise<void> {
    this.start();
    if (this.#isSynced) return;
    if (this.#isClosed) throw new Error('the link to Paddock is closed');
    await new Promise<void>((resolve, reject) => {
      const settle = (error?: Error): void => {
        clearTimeout(timer);
        this.#waiting.delete(settle);
        signal?.removeEventListener('abort', aborted);
        if (error === undefined) resolve();
        else reject(error);
      };
      const aborted = (): void => settle(new Error('the call was cancelled'));
      const timer = setTimeout(() => settle(new Error(`Paddock is not connected (${timeoutMs} ms)`)), timeoutMs);
      signal?.addEventListener('abort', aborted, { once: true });
      this.#waiting.add(settle);
    });
  }

  /** `false`: there is no connection, and nothing was said. */
  say(frame: ClientFrame): boolean {
    if (this.#socket?.readyState !== WebSocket.OPEN) return false;
    this.#socket.send(JSON.stringify(frame));
    return true;
  }

  /** Returns its own remover. */
  listen(listener: LinkListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#drop();
    for (const settle of this.#waiting) settle(new Error('the link to Paddock is closed'));
  }

  #connect(): void {
    this.#retry = undefined;
    const { token } = this.#options;
    const socket = new WebSocket(
      this.#url,
      token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
    );
    this.#socket = socket;
    this.#heardMs = performance.now();
    this.#beat = setInterval(() => this.#pulse(socket), this.#timing.pingEveryMs);
    socket.addEventListener('open', () => {
      this.board.begin();
      this.say({ type: 'ping' });
    });
    socket.addEventListener('message', ({ data }: { data: unknown }) => {
      if (this.#socket === socket) this.#heard(data);
    });
    // An error is always followed by a close.
    socket.addEventListener('close', ({ code }: { code: number }) => {
      if (this.#socket === socket) this.#lost(`closed (${code})`);
    });
    socket.addEventListener('error', () => {
      if (this.#socket === socket) this.#lost('failed');
    });
  }

  #pulse(socket: WebSocket): void {
    if (this.#socket !== socket) return;
    if (performance.now() - this.#heardMs > this.#timing.deadAfterMs) this.#lost('silent');
    else this.say({ type: 'ping' });
  }

  #heard(data: unknown): void {
    this.#heardMs = performance.now();
    const frame = parseFrame(data);
    if (frame === undefined) return;
    const changes = this.board.apply(frame);
    if (frame.type === 'pong' && !this.#isSynced) changes.push(...this.#synced());
    for (const listener of this.#listeners) {
      for (const change of changes) listener.change?.(change);
      listener.frame?.(frame);
    }
  }

  #synced(): PaddockChange[] {
    this.#isSynced = true;
    this.#failures = 0;
    const changes = this.board.synced();
    for (const settle of this.#waiting) settle();
    this.#options.log.info({ url: this.#url.host }, 'Connected to Paddock.');
    return changes;
  }

  #lost(why: string): void {
    const wasSynced = this.#isSynced;
    this.#drop();
    this.#failures += 1;
    const waitMs = backoffMs(this.#failures, Math.random(), undefined, this.#timing.reconnect);
    if (wasSynced || this.#failures === 1) {
      this.#options.log.warn({ url: this.#url.host, why, waitMs }, 'The connection to Paddock is lost.');
    }
    this.#retry = setTimeout(() => this.#connect(), waitMs);
    for (const listener of this.#listeners) listener.lost?.();
  }

  #drop(): void {
    clearInterval(this.#beat);
    const socket = this.#socket;
    this.#socket = undefined;
    this.#isSynced = false;
    if (socket?.readyState === WebSocket.OPEN || socket?.readyState === WebSocket.CONNECTING) socket.close();
  }
}
