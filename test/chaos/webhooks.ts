import { setTimeout as sleep } from 'node:timers/promises';
import { Webhook } from 'standardwebhooks';
import type { LifecycleDelivery } from '#shared/session/events.js';
import type { ChatPlan } from './plan-chat.ts';
import type { Journal } from './journal.ts';

type Type = LifecycleDelivery['type'];
export type DataOf<T extends Type> = Extract<LifecycleDelivery, { type: T }>['data'];

/** One event on its way. */
interface Delivery {
  id: string;
  type: Type;
  body: string;
  nth: number;
  /** What the judge needs of it. */
  about: { taskId?: string; outcome?: string };
}

export interface Sender {
  /** Addresses of the watchers. */
  urls: readonly string[];
  secret: string;
  journal: Journal;
  /** Ended: whatever is still under way stops. */
  signal: AbortSignal;
}

const TIMEOUT_MS = 2_500;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 1_500;
/** The event itself is refused; sending it again cannot help. */
const FINAL = new Set([400, 401, 404, 405, 409, 413, 415, 422]);

/**
 * The webhooks of one chat, as a chat server sends them: in order, each again and again until a watcher says 2xx. Nothing
 * else counts as accepted. By its plan some are held back, sent several times, or out of order, and some answers are not heard.
 */
export class ChatWebhooks {
  /** Every delivery so far has been accepted. */
  settled: Promise<unknown> = Promise.resolve();
  readonly #sender: Sender;
  readonly #plan: ChatPlan;
  readonly #bytes: () => number;
  #sent = 0;
  #lastStampMs = 0;
  #line: Promise<unknown> = Promise.resolve();
  /** Each delivery begins with the first watcher, instead of where the one before it left off. */
  firstWatcherFirst = false;
  /** Which watcher is asked next. */
  #turn: number;

  constructor(sender: Sender, plan: ChatPlan, bytes: () => number) {
    this.#sender = sender;
    this.#plan = plan;
    this.#bytes = bytes;
    this.#turn = plan.index;
  }

  /** Resolves once it is accepted. */
  emit<T extends Type>(type: T, data: DataOf<T>): Promise<void> {
    const stampMs = Math.max(Date.now(), this.#lastStampMs + 1);
    this.#lastStampMs = stampMs;
    const nth = this.#sent;
    this.#sent += 1;
    const delivery: Delivery = {
      id: `${data.sessionId}-${nth}`,
      type,
      body: JSON.stringify({ type, timestamp: new Date(stampMs).toISOString(), data }),
      nth,
      about: {
        ...('taskId' in data ? { taskId: data.taskId } : {}),
        ...('outcome' in data ? { outcome: data.outcome } : {}),
      },
    };
    const before = this.#plan.webhooks.reordered ? Promise.resolve() : this.#line;
    const done = before.then(() => this.#see(delivery));
    this.#line = done;
    this.settled = Promise.all([this.settled, done]);
    return done;
  }

  async #see(delivery: Delivery): Promise<void> {
    const { heldMs, times, deaf } = this.#plan.webhooks;
    await this.#pause(heldMs[delivery.nth] ?? 0);
    if (this.firstWatcherFirst) this.#turn = 0;
    const copies = times[delivery.nth] ?? 1;
    // The copies go to both watchers at once; whichever answers first, the event is accepted.
    const others = Array.from({ length: copies - 1 }, () => this.#attempt(delivery));
    await Promise.all([...others, this.#untilAccepted(delivery, deaf[delivery.nth] === true)]);
  }

  async #untilAccepted(delivery: Delivery, isDeaf: boolean): Promise<void> {
    let heard = !isDeaf;
    for (let tries = 0; !this.#sender.signal.aborted; tries += 1) {
      if ((await this.#attempt(delivery, heard)) && heard) return;
      heard = true;
      await this.#pause(Math.min(FIRST_WAIT_MS * 2 ** tries, LONGEST_WAIT_MS));
    }
  }

  /** One try at one watcher; `heard` false: its answer is lost on the way. */
  async #attempt(delivery: Delivery, heard = true): Promise<boolean> {
    const { urls, journal } = this.#sender;
    const url = urls[this.#turn % urls.length] ?? '';
    this.#turn += 1;
    const answer = await post(url, delivery, this.#sender);
    if (answer === undefined || !heard) return false;
    const { type, id, about } = delivery;
    const event = { chat: this.#plan.sessionId, type, id, bytes: this.#bytes() };
    if (answer.status >= 200 && answer.status < 300) {
      journal.note({ t: 'accepted', ...event, ...about });
      return true;
    }
    if (!FINAL.has(answer.status)) return false;
    journal.note({ t: 'refused', chat: event.chat, type, id, status: answer.status, body: answer.body.slice(0, 300) });
    return true;
  }

  async #pause(ms: number): Promise<void> {
    if (ms <= 0) return;
    const { signal } = this.#sender;
    await sleep(ms, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

/** `undefined`: no answer came. */
async function post(url: string, { id, body }: Delivery, { secret, signal }: Sender) {
  const now = new Date();
  try {
    const response = await fetch(`${url}/v1/events`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
        'webhook-signature': new Webhook(secret).sign(id, now, body),
      },
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    });
    return { status: response.status, body: await response.text() };
  } catch {
    // Refused, reset, cut or too slow: all the same to a sender that must try again.
    return undefined;
  }
}
