import { stat } from 'node:fs/promises';
import type { UnwatchedSession } from '#shared/session/store.js';
import type { ChatServer } from '#shared/settings/environment.js';
import { createLimiter } from './limiter.ts';
import type { DeliveryParts } from './deliveries.ts';
import { oneOf } from './sweep.ts';

const PAGE = 200;
const CONCURRENT = 8;
/** A turn that runs writes more often than this, mostly; one that does not is told apart by the session API. */
const QUIET_MS = 60_000;
/** File systems stamp in steps: what was written just after an event may seem to come a moment before it. */
const COARSE_MS = 1_000;

/**
 * Finds sessions that are known, open and unwatched although a turn of theirs has begun: the turn's end was lost on its way, or
 * with a failed-over Redis. Where the transcript has been written since and is quiet now, a watch begins as if the end had come.
 *
 * One page of the index and one `stat` for each such session; sessions that are watched, closed, in batch mode or ended by an
 * operator cost nothing. Throws the connection's error when Redis is away. Resolves with the number armed.
 */
export async function reconcile(parts: DeliveryParts, { quietMs = QUIET_MS, all = false } = {}): Promise<number> {
  const { store, settings } = parts.core;
  const limit = createLimiter(CONCURRENT);
  let armed = 0;
  let cursor: string | undefined;
  do {
    const page = await store.unwatched({ sinceMs: settings.watchMaxAgeMs, beforeMs: quietMs, all }, cursor, PAGE);
    const results = await Promise.all(
      page.sessions.map((session) =>
        limit(() => oneOf(parts, 'reconcile', session, () => armAnew(parts, session, quietMs))),
      ),
    );
    armed += results.filter((result) => result === true).length;
    cursor = page.next;
  } while (cursor !== undefined);
  return armed;
}

async function armAnew(parts: DeliveryParts, session: UnwatchedSession, quietMs: number): Promise<boolean> {
  const { core, published, transcripts } = parts;
  const server = core.settings.chatServers.find(({ id }) => id === session.server);
  if (server === undefined) return false;
  const path = await quietTranscript(parts, server, session, quietMs);
  if (path === undefined) return false;
  const { values } = await published.project(server, session.project);
  if (!values.surfaceKilledTask && !values.autoReDrive) return false;
  const watch = await core.store.rearm(session.sessionId, { generation: session.generation, path });
  if (watch === undefined) return false;
  const { sessionId, project } = session;
  await parts.backstop.expect(watch);
  const { auto, generation } = watch;
  const cid = `reconcile-${sessionId}-${watch.nowMs}`;
  transcripts.arm({ sessionId, server, project, path, auto, generation, cid });
  core.log.warn({ sessionId, generation }, 'A turn’s end never came: the session is watched from its transcript.');
  return true;
}

/** The session's file, where it was written after what is known last and has been quiet since. */
async function quietTranscript(
  { core }: Pick<DeliveryParts, 'core'>,
  server: ChatServer,
  session: UnwatchedSession,
  quietMs: number,
): Promise<string | undefined> {
  const path = session.path ?? (await core.reader.locate(server, session.sessionId));
  if (path === undefined) return undefined;
  const age = await ageOf(path);
  if (age === undefined || age < quietMs) return undefined;
  // Both are spans up to now, so the two clocks need not agree.
  return age < session.silentMs + COARSE_MS ? path : undefined;
}

async function ageOf(path: string): Promise<number | undefined> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch {
    // Gone or not to be had: nothing to watch.
    return undefined;
  }
}
