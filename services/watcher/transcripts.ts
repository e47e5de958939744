import { dirname } from 'node:path';
import type { FileMark } from '#shared/transcript/finding.js';
import { isOnLocalDisk, quickLstat } from '#shared/transcript/local-disk.js';
import { createLimiter } from './limiter.ts';
import type { FileWatch } from './file-watch.ts';
import { look } from './look.ts';
import { createOwed } from './owed.ts';
import type { WatcherCore } from './ports.ts';
import { changedSince, isQuiet, watchedSession, type LookWhy, type NewWatch, type WatchedSession } from './watched.ts';

/** More reads at once gain nothing on one event loop and hold buffers of up to 64 KB each. */
const CONCURRENT_LOOKS = 16;
/** Sessions whose watch ended through another watcher are forgotten at the greatest age and this much. */
const FORGET_AFTER_MS = 3_600_000;
const FORGET_EVERY_MS = 600_000;

interface Entry {
  session: WatchedSession;
  looking: Promise<void> | undefined;
  /** A change came while a look was in flight: one more after it. */
  again: LookWhy | undefined;
  /** The file whose events are heard under the session's path. */
  watchedIno: number | undefined;
  /** This watch has told of a change. */
  heard: boolean;
  /** When its watch began or was last renewed here, monotonic. */
  sinceMs: number;
}

/** Which transcripts are watched, and when each is looked at. Nothing in it throws: what fails is owed and tried again. */
export class Transcripts {
  readonly #core: WatcherCore;
  readonly #files: FileWatch;
  readonly #entries = new Map<string, Entry>();
  readonly #owed = createOwed<Entry, LookWhy>();
  readonly #limit = createLimiter(CONCURRENT_LOOKS);
  #forgottenMs = performance.now();
  #closed = false;

  constructor(core: WatcherCore, files: FileWatch) {
    this.#core = core;
    this.#files = files;
  }

  /**
   * A watch begins, or goes on under a new generation: its file is watched, and looked at once that stands.
   * @param found the file as the caller has just found it, where it did
   */
  arm(fields: NewWatch, found?: FileMark): WatchedSession {
    const entry = this.#entries.get(fields.sessionId) ?? this.#newEntry(fields);
    const { session } = entry;
    if (fields.generation < session.generation) return session;
    entry.sinceMs = performance.now();
    if (session.path !== fields.path) this.#files.unwatch(session.path);
    Object.assign(session, fields, { shown: undefined, answered: undefined });
    if (session.standing !== undefined) session.standing.planned = false;
    void this.#begin(entry, found);
    return session;
  }

  #newEntry(fields: NewWatch): Entry {
    const session = watchedSession(fields);
    const entry: Entry = {
      session,
      looking: undefined,
      again: undefined,
      watchedIno: undefined,
      heard: false,
      sinceMs: 0,
    };
    this.#entries.set(fields.sessionId, entry);
    return entry;
  }

  /** An event raised the generation of a session that may be watched here; `voided`: a notice that stood does not any more. */
  advance(sessionId: string, generation: number, voided: boolean): void {
    const session = this.get(sessionId);
    if (session === undefined || generation < session.generation) return;
    session.generation = generation;
    session.answered = undefined;
    if (voided) session.standing = undefined;
    if (session.standing !== undefined) session.standing.planned = false;
  }

  /** The watch is over. */
  end(sessionId: string): void {
    const entry = this.#entries.get(sessionId);
    if (entry === undefined) return;
    this.#entries.delete(sessionId);
    this.#owed.settle(entry);
    entry.session.ended = true;
    this.#files.unwatch(entry.session.path);
  }

  get(sessionId: string): WatchedSession | undefined {
    return this.#entries.get(sessionId)?.session;
  }

  /** Whether each change of this file is heard of here, its replacement included. */
  isWatching(sessionId: string, path: string): boolean {
    const entry = this.#entries.get(sessionId);
    return entry !== undefined && entry.session.path === path && this.#isWatched(entry);
  }

  #isWatched({ session, watchedIno, heard }: Entry): boolean {
    // Over a network only what this machine writes is heard of.
    const isHeardOf = heard && isOnLocalDisk(dirname(session.path));
    return isHeardOf && session.mark?.ino === watchedIno && this.#files.watching(session.path);
  }

  all(): WatchedSession[] {
    return [...this.#entries.values()].map(({ session }) => session);
  }

  /** Looks only if the file changed since it was last judged, or was never judged here. */
  async lookIfChanged({ sessionId }: WatchedSession, why: LookWhy): Promise<void> {
    const entry = this.#entries.get(sessionId);
    if (entry !== undefined) await this.#lookIfChanged(entry, why);
  }

  /** Looks that failed, or whose file was not there, are tried again; to be called about every second. */
  tick(): void {
    this.#forgetOld();
    for (const { item, why } of this.#owed.takeDue()) void this.#lookOwed(item, why);
  }

  /** Redis is back: everything that is owed is tried at once. */
  retryNow(): void {
    this.#owed.hurry();
    this.tick();
  }

  /** What Redis was told of the watched sessions may be lost: each is judged anew at its next look, whether its file changes or not. */
  doubtAll(): void {
    for (const { session } of this.#entries.values()) {
      session.mark = undefined;
      session.glanced = undefined;
      session.clean = false;
      session.answered = undefined;
      if (session.standing !== undefined) session.standing.planned = false;
    }
  }

  counts(): { sessions: number; files: number; owed: number } {
    return { sessions: this.#entries.size, files: this.#files.size(), owed: this.#owed.size() };
  }

  /** Waits for looks in flight; after it nothing more is done. */
  async close(): Promise<void> {
    this.#closed = true;
    const looking = [...this.#entries.values()].map((entry) => entry.looking);
    this.#files.close();
    await Promise.all(looking.filter((promise) => promise !== undefined));
  }

  /** Watches the file where that is possible, and looks once: the kill may stand in it already (claude-code#87948). */
  async #begin(entry: Entry, found: FileMark | undefined): Promise<void> {
    const { session } = entry;
    // What was written since was heard of, and looked at as it came.
    if (isQuiet(session) && this.#isWatched(entry)) return;
    const mark = found ?? (await fileMark(session.path));
    if (this.#isOver(entry)) return;
    if (mark === undefined) this.#owed.add(entry, 'armed');
    else {
      this.#watchFile(entry, mark);
      await this.#lookSoon(entry, 'armed');
    }
  }

  /**
   * Watches the file that `mark` was taken from, where that is not watched already. `true`: a watch was begun just now, so the file is to
   * be looked at once more; what was written since `mark` made no event.
   */
  #watchFile(entry: Entry, mark: FileMark): boolean {
    const { path } = entry.session;
    if (this.#files.watching(path) && entry.watchedIno === mark.ino) return false;
    this.#files.unwatch(path);
    // Of before the watch: should the file be replaced in between, the next look sees another one and watches anew.
    entry.watchedIno = mark.ino;
    entry.heard = false;
    return this.#files.watch(path, {
      onChange: () => {
        entry.heard = true;
        void this.#lookSoon(entry, 'event');
      },
      // What came just before is to be seen all the same; from then on it is the sweep's.
      onFailed: () => void this.#lookSoon(entry, 'event'),
    });
  }

  async #lookIfChanged(entry: Entry, why: LookWhy): Promise<void> {
    if (this.#isOver(entry)) return;
    const { session } = entry;
    const mark = await fileMark(session.path);
    if (this.#isOver(entry)) return;
    if (mark === undefined || this.#watchFile(entry, mark) || changedSince(session.mark, mark)) {
      await this.#lookSoon(entry, why);
    }
  }

  async #lookOwed(entry: Entry, why: LookWhy): Promise<void> {
    const { session } = entry;
    const mark = await fileMark(session.path);
    if (this.#isOver(entry)) return;
    if (mark === undefined && (why === 'armed' || session.shown === 'transcript-missing')) {
      // Not yet written, or known to be missing: no more than this stat. Only the sweep's steps search for it again.
      this.#owed.add(entry, why);
      return;
    }
    if (mark !== undefined) this.#watchFile(entry, mark);
    await this.#lookSoon(entry, why);
    // In vain: a step later than before.
    if (this.#owed.has(entry)) this.#owed.add(entry, why);
  }

  /** Looks now, or once more after the look in flight. */
  #lookSoon(entry: Entry, why: LookWhy): Promise<void> {
    if (entry.looking !== undefined) {
      // An event looks less closely than the others.
      if (why !== 'event' || entry.again === undefined) entry.again = why;
      return entry.looking;
    }
    entry.looking = this.#lookUntilQuiet(entry, why).finally(() => {
      entry.looking = undefined;
    });
    return entry.looking;
  }

  async #lookUntilQuiet(entry: Entry, why: LookWhy): Promise<void> {
    await this.#limit(() => this.#lookOnce(entry, why));
    for (let next = entry.again; next !== undefined && !this.#isOver(entry); next = entry.again) {
      entry.again = undefined;
      const reason = next;
      const { path, glanced, mark: judged } = entry.session;
      const mark = await fileMark(path);
      const seen = reason === 'event' ? (glanced ?? judged) : judged;
      if (mark !== undefined && !changedSince(seen, mark)) continue;
      await this.#limit(() => this.#lookOnce(entry, reason));
    }
  }

  async #lookOnce(entry: Entry, why: LookWhy): Promise<void> {
    if (this.#isOver(entry)) return;
    const { session } = entry;
    const { path } = session;
    let failed = false;
    try {
      await look(this.#core, session, why);
    } catch (err) {
      failed = true;
      this.#core.log.debug({ sessionId: session.sessionId, cid: session.cid, err }, 'A look failed; tried again.');
    }
    if (session.ended) this.end(session.sessionId);
    if (this.#isOver(entry)) return;
    this.#keepWatching(entry, path);
    // Without a mark the file was not judged: it is missing or cannot be read.
    if (!failed && session.mark !== undefined) this.#owed.settle(entry);
    else if (!this.#owed.has(entry)) this.#owed.add(entry, failed || why === 'armed' ? why : 'gone');
  }

  /** The watch follows the file: to another path, to the file that took its place, and off one that is gone. */
  #keepWatching(entry: Entry, path: string): void {
    const { session } = entry;
    if (session.path !== path || session.mark === undefined) this.#files.unwatch(path);
    if (session.mark !== undefined && this.#watchFile(entry, session.mark)) void this.#lookIfChanged(entry, 'event');
  }

  #forgetOld(): void {
    const now = performance.now();
    if (now - this.#forgottenMs < FORGET_EVERY_MS) return;
    this.#forgottenMs = now;
    for (const [sessionId, { sinceMs }] of this.#entries) {
      if (now - sinceMs > this.#core.settings.watchMaxAgeMs + FORGET_AFTER_MS) this.end(sessionId);
    }
  }

  #isOver(entry: Entry): boolean {
    return entry.session.ended || this.#closed;
  }
}

/** Size, time and inode; `undefined` where there is no such file to be had. */
async function fileMark(path: string): Promise<FileMark | undefined> {
  try {
    const found = await quickLstat(path);
    // A watched path had no links in it; what has become one since leads wherever it leads.
    if (found.isSymbolicLink()) return undefined;
    const { size, mtimeMs, ino } = found;
    return { size, mtimeMs, ino };
  } catch {
    // Whatever the reason, the look that follows tells it apart.
    return undefined;
  }
}
