import { closeSync, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { readJsonLines, writeWhole } from './files.ts';

const entrySchema = z.object({
  sessionId: z.string(),
  key: z.string(),
  turnId: z.string(),
  text: z.string(),
  atMs: z.number(),
  /** The runtime has the message. */
  begun: z.boolean(),
});
export type RememberedMessage = z.infer<typeof entrySchema>;

/** The contract asks for 24 h; twice that is cheap. */
const KEEP_MS = 48 * 3_600_000;

/**
 * Which message of which key was accepted, on disk: only a 202 is ever put here, before its turn begins. After a restart
 * the same key is still answered the same, and a message that a crash caught between promise and turn can be seen
 * ({@link IdempotencyStore.unbegun}).
 */
export class IdempotencyStore {
  readonly #file: number;
  readonly #entries = new Map<string, RememberedMessage>();

  /** Reads what an earlier process left, drops what is too old, and writes the rest anew: torn lines do not survive. */
  constructor(path: string, nowMs: number) {
    for (const line of readJsonLines(path)) {
      const entry = entrySchema.safeParse(line);
      if (entry.success && entry.data.atMs > nowMs - KEEP_MS) this.#entries.set(nameOf(entry.data), entry.data);
    }
    mkdirSync(dirname(path), { recursive: true });
    writeWhole(path, [...this.#entries.values()].map((entry) => `${JSON.stringify(entry)}\n`).join(''));
    this.#file = openSync(path, 'a');
  }

  find(sessionId: string, key: string): RememberedMessage | undefined {
    return this.#entries.get(nameOf({ sessionId, key }));
  }

  /** Safe on disk when it returns. */
  remember(message: Omit<RememberedMessage, 'begun'>): void {
    this.#put({ ...message, begun: false });
  }

  begun(sessionId: string, key: string): void {
    const entry = this.find(sessionId, key);
    if (entry !== undefined) this.#put({ ...entry, begun: true });
  }

  /** Promised, and not known to have reached the runtime. */
  unbegun(): RememberedMessage[] {
    return [...this.#entries.values()].filter((entry) => !entry.begun);
  }

  close(): void {
    closeSync(this.#file);
  }

  #put(entry: RememberedMessage): void {
    writeSync(this.#file, `${JSON.stringify(entry)}\n`);
    fsyncSync(this.#file);
    this.#entries.set(nameOf(entry), entry);
  }
}

const nameOf = ({ sessionId, key }: { sessionId: string; key: string }): string => `${sessionId} ${key}`;
