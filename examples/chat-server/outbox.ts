import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readAllJson, writeWhole } from './files.ts';

const deliverySchema = z.object({
  /** `webhook-id`: the same through all tries. */
  id: z.string(),
  sessionId: z.string(),
  type: z.string(),
  /** The text that is signed and sent, byte for byte the same through all tries. */
  body: z.string(),
  addedMs: z.number(),
});
export type Delivery = z.infer<typeof deliverySchema>;

/** Deliveries that nobody has confirmed yet, one file each, so that neither side's restart loses any. */
export class Outbox {
  readonly #folder: string;
  readonly #paths = new Map<string, string>();
  readonly #left: Delivery[] = [];
  #sequence = 0;

  constructor(folder: string) {
    this.#folder = folder;
    for (const { path, value } of readAllJson(folder)) {
      const delivery = deliverySchema.safeParse(value);
      if (!delivery.success) continue;
      this.#paths.set(delivery.data.id, path);
      this.#left.push(delivery.data);
    }
  }

  /** What an earlier process left behind, oldest first. */
  leftBehind(): readonly Delivery[] {
    return this.#left;
  }

  /** Safe on disk when it returns. */
  add(event: { type: string; timestamp: string; data: { sessionId: string } }, nowMs: number): Delivery {
    const id = `msg_${randomUUID()}`;
    const delivery = {
      id,
      sessionId: event.data.sessionId,
      type: event.type,
      body: JSON.stringify(event),
      addedMs: nowMs,
    };
    this.#sequence += 1;
    const name = `${String(nowMs).padStart(15, '0')}-${String(this.#sequence).padStart(6, '0')}.json`;
    const path = join(this.#folder, name);
    writeWhole(path, JSON.stringify(delivery));
    this.#paths.set(id, path);
    return delivery;
  }

  /** Confirmed, or refused for good. */
  remove(id: string): void {
    const path = this.#paths.get(id);
    if (path !== undefined) rmSync(path, { force: true });
    this.#paths.delete(id);
  }
}
