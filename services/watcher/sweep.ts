import { planEvaluation } from '#shared/queue/plan.js';
import { nextStepMs } from '#shared/session/steps.js';
import type { DueSession } from '#shared/session/store.js';
import { createLimiter } from './limiter.ts';
import { planNoticeEvaluation, workOfSession } from './plan.ts';
import type { WatcherCore } from './ports.ts';
import type { Published } from './published.ts';
import { isRedisAway } from './redis-away.ts';
import type { Transcripts } from './transcripts.ts';
import type { LookWhy, WatchedSession } from './watched.ts';

/** Parts that the sweep and the catch-up work with. */
export interface SweepParts {
  core: WatcherCore;
  transcripts: Transcripts;
  published: Published;
}

/** Taken at once, and how long another watcher leaves them alone. */
export const BATCH = 200;
const HOLD_MS = 30_000;
const CONCURRENT_STEPS = 8;

/**
 * One sweep of the armed index: every session whose backstop step is due is looked at (one `stat` unless its file
 * changed), a standing notice gets its evaluation planned again in case its job was lost, and a watch past its age ends.
 *
 * Resolves with the number of sessions taken; throws the connection's error when Redis is away, whatever was taken then
 * coming back after the hold.
 */
export async function sweepOnce(parts: SweepParts): Promise<number> {
  const { store } = parts.core;
  const due = await store.takeDue(BATCH, HOLD_MS);
  if (due.length === 0) return 0;
  const nowMs = await store.now();
  const limit = createLimiter(CONCURRENT_STEPS);
  const steps = await Promise.all(
    due.map((session) => limit(() => oneOf(parts, 'sweep', session, () => step(parts, session, nowMs)))),
  );
  await store.reschedule(steps.filter((next) => next !== undefined));
  return due.length;
}

/** One session's part of a greater work: what is wrong with it alone must not hold up the others; Redis away ends the whole. */
export async function oneOf<T>(
  { core }: SweepParts,
  part: string,
  { sessionId }: Pick<DueSession, 'sessionId'>,
  work: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await work();
  } catch (err) {
    if (isRedisAway(err)) throw err;
    core.count('background_failures_total', { part });
    core.log.error({ sessionId, part, err }, 'A session could not be looked at.');
    return undefined;
  }
}

async function step(parts: SweepParts, due: DueSession, nowMs: number) {
  const { core, transcripts } = parts;
  if (nowMs - due.armedMs >= core.settings.watchMaxAgeMs) {
    transcripts.end(due.sessionId);
    await core.store.endWatch(due.sessionId, 'watch-too-old');
    return undefined;
  }
  const session = adopt(parts, due, `sweep-${due.sessionId}-${nowMs}`);
  if (session !== undefined) await lookAgain(parts, session, 'sweep', nowMs, WAS_NUDGED.has(due.state));
  return {
    sessionId: due.sessionId,
    generation: due.generation,
    atMs: nextStepMs(due.armedMs, nowMs, core.settings.watchMaxAgeMs),
  };
}

/** A nudge was sent for the notice that stands, and none is sent twice: nothing is left to evaluate. */
const WAS_NUDGED: ReadonlySet<string> = new Set(['nudged', 'unconfirmed']);

/** The session as this process watches it; `undefined` where its chat server is no longer in the settings. */
export function adopt(parts: SweepParts, due: DueSession, cid: string): WatchedSession | undefined {
  const known = parts.transcripts.get(due.sessionId);
  const server = parts.core.settings.chatServers.find((candidate) => candidate.id === due.server);
  if (server === undefined) return undefined;
  const session =
    known !== undefined && known.generation >= due.generation
      ? known
      : parts.transcripts.arm({
          sessionId: due.sessionId,
          server,
          project: due.project,
          path: known?.path ?? due.path,
          generation: due.generation,
          auto: known?.auto ?? true,
          cid,
        });
  session.standing ??= standingOf(due);
  // States that only show are taken back by a clean read.
  if (due.state !== 'watching' && due.state !== 'killed') session.shown ??= due.state;
  return session;
}

function standingOf(due: DueSession): WatchedSession['standing'] {
  if (due.noticeId === undefined || due.noticeSeenMs === undefined) return undefined;
  return {
    noticeId: due.noticeId,
    keys: undefined,
    noticeSeenMs: due.noticeSeenMs,
    wakeSeenMs: undefined,
    firstSeenMs: due.noticeSeenMs,
    planned: false,
  };
}

/**
 * Looks where the file changed; a notice that stands then (or still) is evaluated once more. A file that is not to be had here
 * is left to a worker, which may have another way to it.
 */
export async function lookAgain(
  parts: SweepParts,
  session: WatchedSession,
  why: Extract<LookWhy, 'sweep' | 'start'>,
  nowMs: number,
  wasNudged = false,
): Promise<void> {
  const { core, transcripts, published } = parts;
  const { values: settings } = await published.project(session.server, session.project);
  await transcripts.lookIfChanged(session, why);
  if (session.ended) return;
  if (session.mark === undefined) return planLook(core, session, why, nowMs);
  if (session.standing === undefined || wasNudged) return;
  await planNoticeEvaluation(core, session, why, { standing: session.standing, settings, nowMs });
}

async function planLook(
  core: WatcherCore,
  session: WatchedSession,
  why: 'sweep' | 'start',
  nowMs: number,
): Promise<void> {
  const job = planEvaluation(workOfSession(session), why, session.standing?.noticeId, { dueMs: nowMs, nowMs });
  await core.queue.add(job.name, job.data, job.options);
}
