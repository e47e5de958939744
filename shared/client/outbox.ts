import { randomUUID } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { LifecycleEvent } from './events.ts';

/** One event on its way. */
export interface Delivery {
  /** `webhook-id`: the same through all tries. */
  id: string;
  sessionId: string;
  type: string;
  /** The text that is signed and sent, byte for byte the same through all tries. */
  body: string;
  addedMs: number;
}

/**
 * Deliveries that nobody has confirmed yet, one file each, so that neither side's restart loses any.
 *
 * Everything is synchronous on purpose: what is written is the intent that stands before an effect, a few hundred bytes,
 * and an `await` between the two would let something else in between. One folder belongs to one process.
 */
export class Outbox {
  readonly #folder: string;
  readonly #names = new Map<string, string>();
  readonly #left: Delivery[] = [];
  /** Files that hold no delivery (cut off by a full disk, edited by hand): set aside, never thrown away. */
  readonly #unreadable: string[] = [];
  #sequence = 0;

  /** Throws where the folder can neither be read nor made. */
  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    for (const name of readdirSync(folder).toSorted()) {
      if (name.endsWith('.json.tmp')) rmSync(join(folder, name), { force: true });
      else if (name.endsWith('.json')) this.#take(name);
    }
  }

  /** What an earlier process left behind, oldest first. */
  leftBehind(): readonly Delivery[] {
    return this.#left;
  }

  unreadable(): readonly string[] {
    return this.#unreadable;
  }

  /** Safe on disk when it returns; throws the system's error where the disk does not take it. */
  add(event: LifecycleEvent, nowMs: number): Delivery {
    const delivery = deliveryOf(event, nowMs);
    this.#sequence += 1;
    const name = `${String(nowMs).padStart(15, '0')}-${String(this.#sequence).padStart(6, '0')}.json`;
    writeWhole(join(this.#folder, name), JSON.stringify(delivery));
    this.#names.set(delivery.id, name);
    return delivery;
  }

  /** Confirmed, or refused for good. */
  remove(id: string): void {
    const name = this.#names.get(id);
    if (name !== undefined) rmSync(join(this.#folder, name), { force: true });
    this.#names.delete(id);
  }

  #take(name: string): void {
    const path = join(this.#folder, name);
    const delivery = parse(readFileSync(path, 'utf8'));
    if (delivery === undefined) {
      renameSync(path, `${path}.unreadable`);
      this.#unreadable.push(`${path}.unreadable`);
      return;
    }
    this.#names.set(delivery.id, name);
    this.#left.push(delivery);
  }
}

export function deliveryOf(event: LifecycleEvent, nowMs: number): Delivery {
  const id = `msg_${randomUUID()}`;
  return { id, sessionId: event.data.sessionId, type: event.type, body: JSON.stringify(event), addedMs: nowMs };
}

/** After a crash the whole file stands there, or none. */
function writeWhole(path: string, text: string): void {
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, 'w', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

function parse(text: string): Delivery | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isDelivery(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isDelivery(value: unknown): value is Delivery {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  return (
    ['id', 'sessionId', 'type', 'body'].every((name) => typeof fields[name] === 'string') &&
    typeof fields['addedMs'] === 'number'
  );
}
