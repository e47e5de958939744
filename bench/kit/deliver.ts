import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpSender } from './http-sender.ts';

const REPEAT_AFTER_MS = 500;

/** Sends deliveries as a chat server does: a 503 promises nothing, so the delivery is sent again. */
export class Deliverer {
  /** How many were sent again so far. */
  repeated = 0;
  readonly #sender: () => HttpSender;

  /** @param sender asked for at each delivery: a site that is started again has another one */
  constructor(sender: () => HttpSender) {
    this.#sender = sender;
  }

  /** Resolves once it was taken; throws for any answer but 202 and 503. */
  async deliver(request: Buffer): Promise<void> {
    for (;;) {
      const { status, body } = await this.#sender().send(request);
      if (status === 202) return;
      if (status !== 503) throw new Error(`A delivery was answered ${status}: ${body}`);
      this.repeated += 1;
      await sleep(REPEAT_AFTER_MS);
    }
  }

  /**
   * One delivery for each item, `connections` at a time. Each is made when its turn has come: made beforehand, the last of
   * tens of thousands would be stamped long before they leave.
   */
  async deliverAll<T>(items: readonly T[], connections: number, make: (item: T) => Buffer): Promise<void> {
    const left = items.values();
    const one = async (): Promise<void> => {
      for (const item of left) await this.deliver(make(item));
    };
    await Promise.all(Array.from({ length: connections }, one));
  }
}
