import { appendFileSync, closeSync, openSync } from 'node:fs';
import type { Project, WorkerName } from './scale.ts';

/**
 * Everything that the chat server (the stand-in) did and saw, in one order. It is all that the judge is given beside the
 * transcripts. `bytes`: length of the chat's transcript at that moment, which places the event among its entries.
 */
export type JournalEvent =
  | { t: 'settings'; seed: number; debounceMs: number; caps: Record<Project, number> }
  | { t: 'chat'; chat: string; kind: string; project: Project }
  /** A chat was taken away: its user deleted it (`closed`), or the session API knows it no more (`gone`). */
  | { t: 'closed' | 'gone'; chat: string; bytes: number }
  | { t: 'get'; chat: string; worker: WorkerName; answer: string; bytes: number }
  /** The call left its worker: the proxy in front of the session API saw it, whatever became of it afterwards. */
  | { t: 'left'; chat: string; worker: WorkerName; key: string; bytes: number }
  /** `started`: a turn of its own; `replayed`: the key was known; else the refusal. */
  | { t: 'post'; chat: string; worker: WorkerName; key: string; outcome: string; bytes: number }
  /** A person, or the chat server for them, did something. */
  | { t: 'human' | 'interrupted'; chat: string; bytes: number }
  | { t: 'stopped'; chat: string; taskId: string; bytes: number }
  /** A webhook was answered 2xx, and that answer was received. */
  | { t: 'accepted'; chat: string; type: string; id: string; taskId?: string; outcome?: string; bytes: number }
  /** A webhook was refused for good: that must not happen. */
  | { t: 'refused'; chat: string; type: string; id: string; status: number; body: string }
  | { t: 'play-failed'; chat: string; why: string };

export type Recorded = JournalEvent & { seq: number; atMs: number };
type Of<T extends JournalEvent['t']> = Extract<Recorded, { t: T }>;
export type Started = Of<'post'>;
export type Left = Of<'left'>;

/** Keeps the events in memory and writes each one down at once. */
export class Journal {
  readonly events: Recorded[] = [];
  readonly #file: number;

  constructor(path: string) {
    this.#file = openSync(path, 'a');
  }

  note(event: JournalEvent): void {
    const recorded = { seq: this.events.length, atMs: Date.now(), ...event };
    this.events.push(recorded);
    appendFileSync(this.#file, `${JSON.stringify(recorded)}\n`);
  }

  close(): void {
    closeSync(this.#file);
  }
}
