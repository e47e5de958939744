import { setTimeout as sleep } from 'node:timers/promises';
import { Agent } from 'undici';
import type { LifecycleDelivery } from '../../shared/session/events.ts';
import { backoffMs } from '../../shared/session-api/backoff.ts';
import { exchange, type Exchange } from '../../shared/session-api/exchange.ts';
import { parseRetryAfter } from '../../shared/session-api/failure.ts';
import { Outbox, type Delivery } from './outbox.ts';
import { webhookHeaders } from './webhook-signature.ts';

export type LifecycleType = LifecycleDelivery['type'];
export type DataOf<T extends LifecycleType> = Extract<LifecycleDelivery, { type: T }>['data'];

/** Where deliveries go. Without a target they wait in the outbox. */
export interface WebhookTarget {
  url: string;
  secret?: string | undefined;
}

export interface WebhookReport {
  what: 'webhook.delivered' | 'webhook.failed' | 'webhook.dropped';
  sessionId: string;
  type: string;
  id: string;
  status?: number;
  error?: string;
  attempt: number;
  /** The receiver's answer, parsed; undefined where it was no JSON. */
  answer?: unknown;
}

const TIMEOUT_MS = 10_000;
/** The receiver forgets nothing that is younger than its watch; older events are of no use to it. */
const KEEP_MS = 3 * 24 * 3_600_000;
/** The event itself is refused: sending it again can never help. Everything else may be mended on the other side. */
const FINAL = new Set([400, 409, 413, 415, 422]);

/**
 * Sends lifecycle events: first onto the disk, then over the wire, again and again until the receiver says 2xx. Events of
 * one session go out strictly in their order, sessions do not wait for each other.
 */
export class Webhooks {
  readonly #outbox: Outbox;
  readonly #report: (report: WebhookReport) => void;
  readonly #queues = new Map<string, Delivery[]>();
  readonly #lastStampMs = new Map<string, number>();
  readonly #agent = new Agent({ connections: 16, headersTimeout: 0, bodyTimeout: 0 });
  readonly #stop = new AbortController();
  readonly #pumps = new Set<Promise<void>>();
  /** Aborted and renewed when the target changes: waits end at once. */
  #nudge = new AbortController();
  #target: WebhookTarget | undefined;

  constructor(folder: string, target: WebhookTarget | undefined, report: (report: WebhookReport) => void) {
    this.#outbox = new Outbox(folder);
    this.#target = target;
    this.#report = report;
    for (const delivery of this.#outbox.leftBehind()) this.#enqueue(delivery);
  }

  /** Stamps the event (later than the session's one before, so that order can be told) and sees to its delivery. */
  emit<T extends LifecycleType>(type: T, data: DataOf<T>): void {
    const nowMs = Date.now();
    const stampMs = Math.max(nowMs, (this.#lastStampMs.get(data.sessionId) ?? 0) + 1);
    this.#lastStampMs.set(data.sessionId, stampMs);
    this.#enqueue(this.#outbox.add({ type, timestamp: new Date(stampMs).toISOString(), data }, nowMs));
  }

  /** Points at another receiver; what waits is tried there at once. */
  setTarget(target: WebhookTarget | undefined): void {
    this.#target = target;
    this.#nudge.abort();
    this.#nudge = new AbortController();
  }

  /** Deliveries that no receiver has confirmed yet. */
  pending(): number {
    let count = 0;
    for (const queue of this.#queues.values()) count += queue.length;
    return count;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#nudge.abort();
    await Promise.all(this.#pumps);
    await this.#agent.destroy();
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
    for (let head = queue[0]; head !== undefined && !this.#stop.signal.aborted; head = queue[0]) {
      if (!(await this.#deliver(head))) return;
      queue.shift();
      this.#outbox.remove(head.id);
    }
    if (queue.length === 0) this.#queues.delete(sessionId);
  }

  /** Tries until it is settled. `false`: this process ends first, the file stays. */
  async #deliver(delivery: Delivery): Promise<boolean> {
    for (let attempt = 1; !this.#stop.signal.aborted; attempt += 1) {
      const wait = await this.#attempt(delivery, attempt);
      if (wait === 'settled') return true;
      await this.#pause(wait);
    }
    return false;
  }

  async #attempt(delivery: Delivery, attempt: number): Promise<'settled' | number> {
    const target = this.#target;
    if (target === undefined) return Number.POSITIVE_INFINITY;
    const about = { sessionId: delivery.sessionId, type: delivery.type, id: delivery.id, attempt };
    if (Date.now() - delivery.addedMs > KEEP_MS) {
      this.#report({ ...about, what: 'webhook.dropped', error: 'too old' });
      return 'settled';
    }
    try {
      const answer = await this.#post(target, delivery);
      const { status } = answer;
      const more = { status, answer: json(answer.body) };
      if (status >= 200 && status < 300) return this.#settled({ ...about, ...more, what: 'webhook.delivered' });
      if (FINAL.has(status)) return this.#settled({ ...about, ...more, what: 'webhook.dropped' });
      this.#report({ ...about, ...more, what: 'webhook.failed' });
      return backoffMs(attempt, Math.random(), askedWait(answer), BACKOFF);
    } catch (error) {
      if (this.#stop.signal.aborted) return 0;
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
      this.#report({ ...about, what: 'webhook.failed', error: cause });
      return backoffMs(attempt, Math.random(), undefined, BACKOFF);
    }
  }

  #settled(report: WebhookReport): 'settled' {
    this.#report(report);
    return 'settled';
  }

  async #post(target: WebhookTarget, delivery: Delivery): Promise<Exchange> {
    const url = new URL(target.url);
    const headers = webhookHeaders(delivery, target.secret, Date.now());
    return exchange(
      this.#agent,
      {
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: delivery.body,
      },
      { timeoutMs: TIMEOUT_MS, maxBytes: 256 * 1024, signal: this.#stop.signal },
    );
  }

  async #pause(waitMs: number): Promise<void> {
    const signal = AbortSignal.any([this.#stop.signal, this.#nudge.signal]);
    // Longer than any timer takes: until the target changes.
    const bounded = Math.min(waitMs, 2 ** 31 - 1);
    await sleep(bounded, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

const BACKOFF = { baseMs: 250, capMs: 30_000, floorMs: 50 };

function askedWait(answer: Exchange): number | undefined {
  const value = answer.headers['retry-after'];
  return parseRetryAfter(Array.isArray(value) ? value[0] : value, Date.now());
}

function json(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    return undefined;
  }
}
