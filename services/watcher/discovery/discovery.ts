import { stat } from 'node:fs/promises';
import { sessionFolder } from '#shared/liveness/session-folder.js';
import type { SessionRecord } from '#shared/session/record.js';
import type { ChatServer } from '#shared/settings/environment.js';
import type { FileMark } from '#shared/transcript/finding.js';
import { acceptDelivery, type DeliveryParts } from '../deliveries.ts';
import { createLimiter } from '../limiter.ts';
import { projectOf, startFolder } from '../project-of.ts';
import { isRedisAway } from '../redis-away.ts';
import { changedSince } from '../watched.ts';
import { findActive, type ActiveChat } from './find-active.ts';
import { isFree, judgeFound } from './judge.ts';

/**
 * Finds chats by their files, for chat servers with `discover`, and those whose turn's end was told but lost.
 *
 * A round looks at names and times only; what was written since the last one is read, and watched once its turn is over. So a
 * round is also the poll for chats that have no file watch of their own, whose number is bounded.
 */
export interface Discovery {
  start(): void;
  /** A chat whose turn's end could not be recorded is looked at in the next rounds until Redis takes it. */
  owe(chat: LostChat): void;
  /** A whole round now (tests); otherwise they come by themselves. */
  round(): Promise<void>;
  close(): Promise<void>;
}

export interface LostChat {
  server: ChatServer;
  sessionId: string;
  transcriptPath: string;
}

export interface DiscoveryOptions {
  delivery: DeliveryParts;
  /** Least time between rounds; 5 s. */
  everyMs?: number;
  maxFiles?: number;
  maxDirectories?: number;
}

const EVERY_MS = 5_000;
/** On a slow disk looking takes a twentieth of the time at most, as long as a round still comes twice a minute. */
const REST_FACTOR = 20;
const MOST_REST_MS = 30_000;
const MAX_FILES = 50_000;
const MAX_DIRECTORIES = 20_000;
const MOST_OWED = 10_000;
const CONCURRENT = 8;

type Mark = ActiveChat['mark'];
interface Looking {
  server: ChatServer;
  source: SessionRecord['source'];
  watchingSinceMs: number | undefined;
}

export function createDiscovery(options: DiscoveryOptions): Discovery {
  const { delivery, everyMs = EVERY_MS, maxFiles = MAX_FILES, maxDirectories = MAX_DIRECTORIES } = options;
  const { core } = delivery;
  const servers = core.settings.chatServers.filter(({ discover }) => discover === true);
  const seen = new Map<string, Map<string, Mark>>();
  const since = new Map<string, number>();
  const owed = new Map<string, LostChat>();
  const limit = createLimiter(CONCURRENT);
  let timer: NodeJS.Timeout | undefined;
  let current: Promise<void> | undefined;
  let closed = false;
  let toldIncomplete = false;
  let lookedMs = 0;

  async function lookFor(server: ChatServer): Promise<void> {
    const beganMs = Date.now();
    const roots = server.transcriptRoots.map(({ ours }) => ours);
    const sinceMs = beganMs - core.settings.watchMaxAgeMs;
    const { chats, complete } = await findActive(roots, { sinceMs, maxFiles, maxDirectories });
    lookedMs += Date.now() - beganMs;
    if (!complete) tellIncomplete(server);
    const before = seen.get(server.id);
    const looking = { server, source: 'discovery' as const, watchingSinceMs: since.get(server.id) };
    const marks = new Map<string, Mark>();
    await Promise.all(
      chats.map((chat) =>
        limit(async () => {
          const known = before?.get(chat.sessionId);
          if (!changedSince(known, chat.mark)) marks.set(chat.sessionId, chat.mark);
          else if (await attempt(looking, chat)) marks.set(chat.sessionId, chat.mark);
        }),
      ),
    );
    seen.set(server.id, marks);
    since.set(server.id, beganMs);
  }

  /** `false`: not looked at; the next round does. */
  async function attempt(looking: Looking, chat: ActiveChat): Promise<boolean> {
    if (closed) return false;
    try {
      await consider(delivery, looking, chat);
      return true;
    } catch (err) {
      if (!isRedisAway(err)) {
        core.count('background_failures_total', { part: 'discovery' });
        core.log.warn({ sessionId: chat.sessionId, err }, 'A chat that was found cannot be watched.');
        return true;
      }
      return false;
    }
  }

  async function lookAtOwed(): Promise<void> {
    for (const [sessionId, { server, transcriptPath }] of owed) {
      const confined = await core.reader.confine(server, transcriptPath);
      const path = 'path' in confined ? confined.path : undefined;
      const mark = path === undefined ? undefined : await markOf(path);
      const looking = { server, source: 'hook' as const, watchingSinceMs: 0 };
      const chat = path === undefined || mark === undefined ? undefined : { sessionId, path, mark };
      if (chat !== undefined && !(await attempt(looking, chat))) return;
      owed.delete(sessionId);
    }
  }

  function tellIncomplete(server: ChatServer): void {
    if (toldIncomplete) return;
    toldIncomplete = true;
    core.log.warn(
      { chatServer: server.id, maxFiles, maxDirectories },
      'More transcripts than discovery looks at: name narrower TRANSCRIPT_ROOTS.',
    );
  }

  async function oneRound(): Promise<void> {
    lookedMs = 0;
    await lookAtOwed();
    for (const server of servers) if (!closed) await lookFor(server);
  }

  function round(): Promise<void> {
    current ??= oneRound().finally(() => {
      current = undefined;
    });
    return current;
  }

  async function go(): Promise<void> {
    await round();
    if (closed) return;
    timer = setTimeout(() => void go(), Math.max(everyMs, Math.min(REST_FACTOR * lookedMs, MOST_REST_MS)));
  }

  return {
    start: () => void go(),
    owe(chat) {
      if (owed.size < MOST_OWED) owed.set(chat.sessionId, chat);
    },
    round,
    async close() {
      closed = true;
      clearTimeout(timer);
      await current;
    },
  };
}

/** Looks at one chat whose file was written. Throws the connection's error when Redis is away. */
async function consider(delivery: DeliveryParts, { server, source, watchingSinceMs }: Looking, chat: ActiveChat) {
  const { core, transcripts } = delivery;
  const { sessionId, path, mark } = chat;
  const watched = transcripts.get(sessionId);
  if (watched !== undefined) await transcripts.lookIfChanged(watched, 'event');
  const record = await core.store.find(sessionId);
  const writtenMs = Math.floor(mark.mtimeMs);
  if (record !== undefined && !isFree(record, source, writtenMs)) return;
  const read = await core.reader.read(path, {
    sessionId,
    answeredTaskIds: new Set(record?.answeredTaskIds),
    senderLabels: [core.settings.nudgeLabel],
    scanLimitBytes: core.settings.scanLimitBytes,
  });
  if (read.kind !== 'read') return;
  const found = judgeFound({ finding: read.finding, record, watchingSinceMs });
  if (found.do === 'leave') return;
  // What the file was when it was read, not when it was found: what was read may be newer.
  const endedMs = Math.min(Math.floor(read.file.mtimeMs), Date.now());
  const cid = `${source}-found-${server.id}-${sessionId}-${endedMs}`;
  await acceptDelivery(delivery, {
    deliveryId: cid,
    server,
    source,
    cid,
    signedMs: endedMs,
    foundHung: found.foundHung,
    event: {
      type: 'turn.ended',
      timestamp: endedMs,
      data: {
        sessionId,
        project: record?.project ?? projectOf(startFolder(await sessionFolder(path), path), server.projectsDir),
        driveMode: 'session',
        outcome: 'completed',
        cause: found.cause,
        transcriptPath: path,
      },
    },
  });
  core.count('discovered_total', { how: found.foundHung ? 'hung' : 'watched' });
}

async function markOf(path: string): Promise<FileMark | undefined> {
  try {
    const { size, mtimeMs, ino } = await stat(path);
    return { size, mtimeMs, ino };
  } catch {
    // It was never written: there is nothing to watch.
    return undefined;
  }
}
