import { stat } from 'node:fs/promises';
import type { FileMark } from '#shared/transcript/finding.js';
import { createLimiter } from './limiter.ts';
import type { FileWatch } from './file-watch.ts';
import { look } from './look.ts';
import type { WatcherCore } from './ports.ts';
import { changedSince, watchedSession, type LookWhy, type WatchedSession } from './watched.ts';

/** Which transcripts are watched, and when each is looked at. */
export interface Transcripts {
  /** A watch begins or goes on under a new generation: its file is watched and looked at once that stands. */
  arm(fields: Parameters<typeof watchedSession>[0]): WatchedSession;
  /** An event raised the generation of a session that may be watched here. */
  advance(sessionId: string, generation: number): void;
  /** The watch is over. */
  end(sessionId: string): void;
  get(sessionId: string): WatchedSession | undefined;
  all(): Iterable<WatchedSession>;
  /** Looks only if the file changed since it was last judged, or was never judged here. Never throws. */
  lookIfChanged(session: WatchedSession, why: LookWhy): Promise<void>;
  /** Looks that failed or whose file was not there are tried again; to be called about every second. */
  tick(): void;
  /** Redis is back: everything that is owed is tried at once. */
  retryNow(): void;
  counts(): { sessions: number; files: number; owed: number };
  close(): Promise<void>;
}

/** More reads at once gain nothing on one event loop and hold buffers of up to 64 KB each. */
const CONCURRENT_LOOKS = 16;
/** chokidar drops changes that follow another within 50 ms, and does not tell of them later: so each is followed up once. */
const FOLLOW_UP_MS = 70;
/** A look that is owed is tried after 1, 2, 4 … s, and no less often than this. */
const LONGEST_RETRY_MS = 30_000;

interface Entry {
  session: WatchedSession;
  looking: Promise<void> | undefined;
  /** A change came while a look was in flight: one more after it. */
  again: LookWhy | undefined;
  followUp: NodeJS.Timeout | undefined;
  owed: { atMs: number; tries: number; why: LookWhy } | undefined;
}

export function createTranscripts(core: WatcherCore, files: FileWatch): Transcripts {
  const entries = new Map<string, Entry>();
  const owedEntries = new Set<Entry>();
  const limit = createLimiter(CONCURRENT_LOOKS);
  let closed = false;

  function end(sessionId: string): void {
    const entry = entries.get(sessionId);
    if (entry === undefined) return;
    entries.delete(sessionId);
    owedEntries.delete(entry);
    clearTimeout(entry.followUp);
    entry.session.ended = true;
    files.unwatch(entry.session.path);
  }

  function arm(fields: Parameters<typeof watchedSession>[0]): WatchedSession {
    const known = entries.get(fields.sessionId);
    if (known !== undefined) {
      if (fields.generation < known.session.generation) return known.session;
      if (known.session.path !== fields.path) files.unwatch(known.session.path);
      Object.assign(known.session, fields, { shown: undefined, answered: undefined });
      if (known.session.standing !== undefined) known.session.standing.planned = false;
      void begin(known, 'armed');
      return known.session;
    }
    const session = watchedSession(fields);
    const entry: Entry = { session, looking: undefined, again: undefined, followUp: undefined, owed: undefined };
    entries.set(fields.sessionId, entry);
    void begin(entry, 'armed');
    return session;
  }

  /** Watches the file where that is possible, and looks once: the kill may stand in it already (claude-code#87948). */
  async function begin(entry: Entry, why: LookWhy): Promise<void> {
    const { session } = entry;
    const watchedBefore = files.watching(session.path);
    const mark = await fileMark(session.path);
    if (session.ended || closed) return;
    if (mark === undefined) return owe(entry, why);
    // A new watch calls `onChange` once it stands; without one the look is ours to start.
    if (!watchFile(entry) || watchedBefore) await lookSoon(entry, why);
  }

  function watchFile(entry: Entry): boolean {
    return files.watch(entry.session.path, {
      onChange: () => void changed(entry),
      onGone: () => {
        entry.session.mark = undefined;
        owe(entry, 'gone');
      },
    });
  }

  async function changed(entry: Entry): Promise<void> {
    await lookSoon(entry, 'event');
    if (entry.followUp !== undefined || entry.session.ended) return;
    entry.followUp = setTimeout(() => {
      entry.followUp = undefined;
      void lookIfChanged(entry, 'event');
    }, FOLLOW_UP_MS);
  }

  function lookSoon(entry: Entry, why: LookWhy): Promise<void> {
    if (entry.looking !== undefined) {
      entry.again = why;
      return entry.looking;
    }
    entry.looking = lookUntilQuiet(entry, why).finally(() => {
      entry.looking = undefined;
    });
    return entry.looking;
  }

  async function lookUntilQuiet(entry: Entry, why: LookWhy): Promise<void> {
    for (let next: LookWhy | undefined = why; next !== undefined; next = entry.again) {
      entry.again = undefined;
      const reason = next;
      await limit(() => lookOnce(entry, reason));
      if (entry.session.ended || closed) return;
    }
  }

  async function lookOnce(entry: Entry, why: LookWhy): Promise<void> {
    const { session } = entry;
    if (session.ended || closed) return;
    const path = session.path;
    try {
      await look(core, session, why);
      entry.owed = undefined;
      owedEntries.delete(entry);
    } catch (error) {
      core.log.debug({ sessionId: session.sessionId, cid: session.cid, err: error }, 'A look failed; tried again.');
      owe(entry, why);
    }
    if (session.ended) end(session.sessionId);
    else if (session.path !== path) {
      files.unwatch(path);
      watchFile(entry);
    } else if (session.mark === undefined && entry.owed === undefined) owe(entry, why === 'armed' ? 'armed' : 'gone');
  }

  function owe(entry: Entry, why: LookWhy): void {
    if (entry.session.ended || closed) return;
    const tries = (entry.owed?.tries ?? 0) + 1;
    const waitMs = Math.min(1_000 * 2 ** (tries - 1), LONGEST_RETRY_MS);
    entry.owed = { atMs: performance.now() + waitMs - 50, tries, why };
    owedEntries.add(entry);
  }

  async function lookIfChanged(entry: Entry, why: LookWhy): Promise<void> {
    const { session } = entry;
    if (session.ended || closed) return;
    const mark = await fileMark(session.path);
    if (mark !== undefined && !files.watching(session.path)) watchFile(entry);
    if (mark === undefined || changedSince(session.mark, mark)) await lookSoon(entry, why);
  }

  function tick(): void {
    const now = performance.now();
    for (const entry of owedEntries) {
      if (entry.owed === undefined || entry.owed.atMs > now) continue;
      // Not before this try is over; what it comes to decides.
      entry.owed.atMs = now + LONGEST_RETRY_MS;
      void lookOwed(entry, entry.owed.why);
    }
  }

  async function lookOwed(entry: Entry, why: LookWhy): Promise<void> {
    const mark = await fileMark(entry.session.path);
    if (entry.session.ended || closed) return;
    // Still not written: no more than a stat until the sweep's step asks, which then says that it is missing.
    if (mark === undefined && why === 'armed') return owe(entry, why);
    if (mark !== undefined && !files.watching(entry.session.path)) watchFile(entry);
    await lookSoon(entry, why);
  }

  return {
    arm,
    end,
    tick,
    retryNow() {
      for (const entry of owedEntries) if (entry.owed !== undefined) entry.owed.atMs = 0;
      tick();
    },
    advance(sessionId, generation) {
      const session = entries.get(sessionId)?.session;
      if (session === undefined || generation < session.generation) return;
      session.generation = generation;
      session.answered = undefined;
      if (session.standing !== undefined) session.standing.planned = false;
    },
    get: (sessionId) => entries.get(sessionId)?.session,
    *all() {
      for (const entry of entries.values()) yield entry.session;
    },
    async lookIfChanged(session, why) {
      const entry = entries.get(session.sessionId);
      if (entry?.session === session) await lookIfChanged(entry, why);
    },
    counts: () => ({ sessions: entries.size, files: files.size(), owed: owedEntries.size }),
    async close() {
      closed = true;
      for (const entry of entries.values()) clearTimeout(entry.followUp);
      const looking = [...entries.values()].map((entry) => entry.looking ?? Promise.resolve());
      await files.close();
      await Promise.all(looking);
    },
  };
}

/** Size, time and inode; `undefined` where there is no such file to be had. */
async function fileMark(path: string): Promise<FileMark | undefined> {
  try {
    const { size, mtimeMs, ino } = await stat(path);
    return { size, mtimeMs, ino };
  } catch {
    // Whatever the reason, the look that follows tells it apart.
    return undefined;
  }
}
