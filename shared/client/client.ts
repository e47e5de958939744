import type { LifecycleData, LifecycleEvent, LifecycleType } from './events.ts';
import { createGate } from './gate.ts';
import { deliveryOf, Outbox, type Delivery } from './outbox.ts';
import { post, type Tried } from './post.ts';
import { Stamps } from './stamps.ts';
import type { WebhookTarget } from './target.ts';

/** What became of an event, for a log. */
export interface LifecycleReport {
  /**
   * `delivered`: the watcher has it; `failed`: tried again later; `dropped`: refused for good, or too old; `not-kept`: the disk
   * did not take it, so that a restart would lose it; `unreadable`: a file in the outbox holds no event and was set aside.
   */
  what: 'delivered' | 'failed' | 'dropped' | 'not-kept' | 'unreadable';
  sessionId?: string;
  type?: string;
  /** `webhook-id`. */
  id?: string;
  /** Tries so far, from 1. */
  attempt?: number;
  status?: number;
  error?: string;
  /** The watcher's answer, parsed; `undefined` where it was no JSON. */
  answer?: unknown;
}

export interface LifecycleClientOptions {
  /** Folder for events that are not confirmed yet; one for each process, kept over restarts. Made where it is missing. */
  outboxDir: string;
  /** Where events go; without one they wait on disk. */
  target?: WebhookTarget | undefined;
  /** Told everything, for a log. */
  report?: ((report: LifecycleReport) => void) | undefined;
}

/** Tells a watcher of this chat server's sessions. */
export interface LifecycleClient {
  /**
   * Takes an event: it is stamped, and on disk when this returns; sending goes on by itself. Never throws, since no chat may
   * fail for it: an event that the disk does not take is sent all the same, and reported as `not-kept`.
   */
  emit<T extends LifecycleType>(type: T, data: LifecycleData[T]): void;
  /** Points at another watcher; what waits is tried there at once. `undefined`: everything waits. */
  setTarget(target: WebhookTarget | undefined): void;
  /** Events that nobody has confirmed yet. */
  pending(): number;
  /** Resolves once nothing waits any more. */
  flushed(): Promise<void>;
  /** Ends what is under way; what is not confirmed stays on disk for the next start. Idempotent. */
  close(): Promise<void>;
}

/** Events of no use any more: a watch lives a day at most. */
const KEEP_MS = 3 * 24 * 3_600_000;
/** After an outage every session has something to send. */
const CONCURRENT_POSTS = 16;

/**
 * Sends lifecycle events: first onto the disk, then over the wire, again and again until the watcher says 2xx. Events of one
 * session go out strictly in their order; sessions do not wait for each other.
 */
export function createLifecycleClient(options: LifecycleClientOptions): LifecycleClient {
  return new Sender(options);
}

class Sender implements LifecycleClient {
  readonly #outbox: Outbox;
  readonly #report: (report: LifecycleReport) => void;
  readonly #stamps = new Stamps();
  readonly #queues = new Map<string, Delivery[]>();
  readonly #pumps = new Set<Promise<void>>();
  readonly #gate = createGate(CONCURRENT_POSTS);
  readonly #stop = new AbortController();
  /** Each ends one wait at once. */
  readonly #sleepers = new Set<() => void>();
  #target: WebhookTarget | undefined;
  #idle: (() => void)[] = [];

  constructor({ outboxDir, target, report = () => undefined }: LifecycleClientOptions) {
    this.#outbox = new Outbox(outboxDir);
    this.#target = target;
    this.#report = report;
    for (const path of this.#outbox.unreadable()) report({ what: 'unreadable', error: path });
    for (const delivery of this.#outbox.leftBehind()) {
      this.#stamps.saw(delivery.sessionId, stampOf(delivery));
      this.#enqueue(delivery);
    }
  }

  emit<T extends LifecycleType>(type: T, data: LifecycleData[T]): void {
    const nowMs = Date.now();
    const event = { type, timestamp: this.#stamps.next(data.sessionId, nowMs), data } as LifecycleEvent;
    this.#enqueue(this.#keep(event, nowMs));
  }

  setTarget(target: WebhookTarget | undefined): void {
    this.#target = target;
    this.#wakeAll();
  }

  pending(): number {
    let count = 0;
    for (const queue of this.#queues.values()) count += queue.length;
    return count;
  }

  async flushed(): Promise<void> {
    if (this.pending() > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#wakeAll();
    await Promise.all(this.#pumps);
  }

  #wakeAll(): void {
    for (const wake of this.#sleepers) wake();
  }

  #keep(event: LifecycleEvent, nowMs: number): Delivery {
    try {
      return this.#outbox.add(event, nowMs);
    } catch (error) {
      const delivery = deliveryOf(event, nowMs);
      this.#report({ what: 'not-kept', ...about(delivery), error: String(error) });
      return delivery;
    }
  }

  #enqueue(delivery: Delivery): void {
    const queue = this.#queues.get(delivery.sessionId);
    if (queue !== undefined) {
      queue.push(delivery);
      return;
    }
    const fresh = [delivery];
    this.#queues.set(delivery.sessionId, fresh);
    const pump = this.#drain(delivery.sessionId, fresh);
    this.#pumps.add(pump);
    void pump.finally(() => this.#pumps.delete(pump));
  }

  async #drain(sessionId: string, queue: Delivery[]): Promise<void> {
    for (let head = queue[0]; head !== undefined; head = queue[0]) {
      if (!(await this.#deliver(head))) return;
      queue.shift();
      this.#forget(head);
    }
    this.#queues.delete(sessionId);
    if (this.#queues.size > 0) return;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** A file that stays is sent once more after the next start, which does no harm. */
  #forget(delivery: Delivery): void {
    try {
      this.#outbox.remove(delivery.id);
    } catch (error) {
      this.#report({ what: 'not-kept', ...about(delivery), error: String(error) });
    }
  }

  /** Tries until it is settled. `false`: this process ends first, the file stays. */
  async #deliver(delivery: Delivery): Promise<boolean> {
    for (let attempt = 1; !this.#stop.signal.aborted; attempt += 1) {
      const target = this.#target;
      const waitMs = await this.#attempt(delivery, attempt, target);
      if (waitMs === 'settled') return true;
      // Another target was set meanwhile: nobody is there to wake this wait any more.
      if (this.#target === target) await this.#pause(waitMs);
    }
    return false;
  }

  async #attempt(delivery: Delivery, attempt: number, target: WebhookTarget | undefined): Promise<'settled' | number> {
    if (target === undefined) return Number.POSITIVE_INFINITY;
    if (Date.now() - delivery.addedMs > KEEP_MS) {
      this.#report({ what: 'dropped', ...about(delivery), attempt, error: 'too old' });
      return 'settled';
    }
    const tried = await this.#gate(() => post(target, delivery, attempt, this.#stop.signal));
    if (this.#stop.signal.aborted && tried.kind === 'again') return 0;
    this.#report({ what: WHAT[tried.kind], ...about(delivery), attempt, ...facts(tried) });
    return tried.kind === 'again' ? tried.waitMs : 'settled';
  }

  async #pause(waitMs: number): Promise<void> {
    if (waitMs === 0 || this.#stop.signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        resolve();
      };
      // No timer takes more: until the target changes.
      const timer = setTimeout(wake, Math.min(waitMs, 2 ** 31 - 1));
      this.#sleepers.add(wake);
    });
  }
}

const WHAT = { delivered: 'delivered', refused: 'dropped', again: 'failed' } as const;

const about = ({ sessionId, type, id }: Delivery) => ({ sessionId, type, id });

function facts(tried: Tried): Pick<LifecycleReport, 'status' | 'answer' | 'error'> {
  if (tried.kind !== 'again') return { status: tried.status, answer: tried.answer };
  const { status, answer, error } = tried;
  return {
    ...(status === undefined ? {} : { status, answer }),
    ...(error === undefined ? {} : { error }),
  };
}

/** The body begins as {@link LifecycleEvent} is written. */
function stampOf({ body }: Delivery): string {
  return /^\{"type":"[^"]*","timestamp":"([^"]*)"/.exec(body)?.[1] ?? '';
}
