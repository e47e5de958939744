import { clearedNotice } from '#shared/session/cleared.js';
import type { DeliveryReason } from '#shared/trail/reasons.js';
import type { Finding, ReadContext } from '#shared/transcript/finding.js';
import { planNoticeEvaluation, planNoticeLimbo } from './plan.ts';
import type { WatcherCore } from './ports.ts';
import { isQuiet, type LookWhy, type WatchedSession } from './watched.ts';

type Pending = Extract<Finding, { kind: 'pending' }>;
type Settled = Extract<Finding, { kind: 'settled' }>;

/**
 * Looks at one armed session's transcript and does what it says: a notice is recorded (it shows at once) and its evaluation
 * planned; an answered one is cleared; anything else changes nothing and asks nothing of Redis.
 *
 * Throws the connection's error when Redis is away; looking again later then does the same work.
 */
export async function look(core: WatcherCore, session: WatchedSession, why: LookWhy): Promise<void> {
  if (why === 'event' && (await isNothing(core, session))) return;
  const outcome = await core.reader.read(session.path, readContext(core, session));
  if (session.ended) return;
  session.glanced = undefined;
  core.count('looks_total', { result: outcome.kind === 'read' ? outcome.finding.reason : outcome.kind });
  switch (outcome.kind) {
    case 'read':
      observe(core, session, outcome.finding);
      await act(core, session, outcome.finding, why);
      // Only now: a look that failed half way is owed again, whether or not the file changes.
      session.mark = outcome.file;
      session.clean = showsNothing(outcome.finding);
      return;
    case 'missing':
      await missing(core, session, why);
      return;
    case 'undetermined':
      await noteOnce(core, session, 'transcript-undetermined', { bytesRead: outcome.bytesRead });
      session.mark = outcome.file;
      session.clean = false;
      return;
    case 'unreadable':
      await noteOnce(core, session, 'transcript-unreadable', { code: outcome.code });
  }
}

/** Not busy: the reading of an open turn does not go back far enough to tell what is queued behind it. */
const showsNothing = (finding: Finding): boolean =>
  finding.kind === 'settled' && finding.verdict === 'not-hung' && finding.noticeId === undefined;

/** A glance tells that what was appended to a quiet chat cannot matter. The steps of the sweep judge it all the same. */
async function isNothing(core: WatcherCore, session: WatchedSession): Promise<boolean> {
  const since = session.glanced ?? session.mark;
  if (since === undefined || !isQuiet(session)) return false;
  const now = await core.reader.glance(session.path, since);
  if (now === undefined) return false;
  session.glanced = now;
  core.count('looks_total', { result: 'glance' });
  return true;
}

function readContext(core: WatcherCore, session: WatchedSession): ReadContext {
  return {
    sessionId: session.sessionId,
    answeredTaskIds: session.answered ?? new Set(),
    senderLabels: [core.settings.nudgeLabel],
    scanLimitBytes: core.settings.scanLimitBytes,
  };
}

async function act(core: WatcherCore, session: WatchedSession, finding: Finding, why: LookWhy): Promise<void> {
  if (finding.kind === 'pending') await pending(core, session, finding, why);
  else await settled(core, session, finding);
}

/** The hung signature is there: record it, plan its evaluation. */
async function pending(core: WatcherCore, session: WatchedSession, finding: Pending, why: LookWhy): Promise<void> {
  const keys = `${finding.noticeKey} ${finding.wakeKey ?? ''}`;
  if (session.standing?.keys === keys && session.standing.planned) return;
  if (session.answered === undefined) {
    if (!(await refresh(core, session))) return;
    // Answered before: only a reading that knows it can tell.
    if (finding.tasks.some((task) => session.answered?.has(task.id))) return look(core, session, why);
  }
  const noticed = await recordNotice(core, session, finding);
  if (noticed === undefined) return;
  if (noticed.isNew) core.count('notices_total');
  const standing = {
    noticeId: finding.noticeId,
    keys,
    noticeSeenMs: noticed.noticeSeenMs,
    wakeSeenMs: noticed.wakeSeenMs,
    firstSeenMs: noticed.firstSeenMs,
    planned: false,
  };
  session.standing = standing;
  const { values: settings } = await core.recovery.effective(session.server, session.project);
  const plan = { standing, settings, nowMs: noticed.nowMs };
  if (!noticed.nudged) await planNoticeEvaluation(core, session, 'notice', plan);
  await planNoticeLimbo(core, session, plan);
  standing.planned = true;
}

/** Records the notice; once more under the record's own generation where ours is behind (another watcher took the event). */
async function recordNotice(core: WatcherCore, session: WatchedSession, finding: Pending) {
  const notice = {
    noticeId: finding.noticeId,
    noticeKey: finding.noticeKey,
    wakeKey: finding.wakeKey,
    tasks: finding.tasks,
    cid: session.cid,
  };
  const first = await core.store.noticed(session.sessionId, { ...notice, generation: session.generation });
  if (first !== undefined || !(await refresh(core, session))) return first;
  return core.store.noticed(session.sessionId, { ...notice, generation: session.generation });
}

async function settled(core: WatcherCore, session: WatchedSession, finding: Settled): Promise<void> {
  switch (finding.verdict) {
    case 'busy-or-waiting':
      // Something is about to move the chat. If it comes to nothing, the same notice needs an evaluation of its own again.
      if (session.standing !== undefined) session.standing.planned = false;
      return;
    case 'error-entry':
      await showError(core, session, finding);
      return;
    case 'not-hung':
      if (session.standing !== undefined || session.shown !== undefined) await clear(core, session, finding);
  }
}

/** The notice that stood is answered, or went away otherwise. */
async function clear(core: WatcherCore, session: WatchedSession, finding: Settled): Promise<void> {
  const cleared = clearedNotice(finding, session.generation);
  const result = await core.store.cleared(session.sessionId, cleared);
  if (result === 'nothing') {
    if (!(await refresh(core, session))) return;
    if (session.generation !== cleared.generation) {
      await core.store.cleared(session.sessionId, { ...cleared, generation: session.generation });
    }
  }
  for (const id of finding.answeredTaskIds) session.answered?.add(id);
  session.standing = undefined;
  session.shown = undefined;
  if (result === 'recovered') await measureReply(core, session);
}

/** How long the reply took, for the metric alone: the change has been made and must not be repeated for it. */
async function measureReply(core: WatcherCore, { sessionId }: WatchedSession): Promise<void> {
  const record = await core.store.find(sessionId);
  const sentMs = record?.attempt?.sentMs;
  if (record !== undefined && sentMs !== undefined) core.replied(Math.max(0, record.updatedMs - sentMs));
}

/** What else a transcript shows of a chat is counted once for each session and generation, however often it is looked at. */
function observe(core: WatcherCore, session: WatchedSession, finding: Finding): void {
  for (const observation of finding.observations) {
    const seen = `${session.generation} ${observation}`;
    if (session.observed.has(seen)) continue;
    session.observed.add(seen);
    core.count('observations_total', { observation });
  }
}

async function showError(core: WatcherCore, session: WatchedSession, finding: Settled): Promise<void> {
  const shown = `error ${finding.noticeId ?? ''} ${finding.errorClass ?? ''}`;
  if (finding.noticeId === undefined || session.shown === shown) return;
  if (session.standing !== undefined) session.standing.planned = false;
  await core.store.show(session.sessionId, {
    generation: session.generation,
    state: 'error',
    reason: 'verdict-error',
    kind: 'error-entry',
    detail: { errorClass: finding.errorClass, reason: finding.reason, noticeId: finding.noticeId },
  });
  session.shown = shown;
}

/** The file is not there: look its id up again, else say so once and leave it to the backstop. */
async function missing(core: WatcherCore, session: WatchedSession, why: LookWhy): Promise<void> {
  session.mark = undefined;
  session.clean = false;
  const found = await core.reader.locate(session.server, session.sessionId);
  if (found !== undefined && found !== session.path) {
    core.log.info({ sessionId: session.sessionId, from: session.path, to: found }, 'The transcript has moved.');
    session.path = found;
    return look(core, session, why);
  }
  // Right after a turn end the file may only be about to be written.
  if (why === 'armed' || why === 'event' || session.shown === 'transcript-missing') return;
  await core.store.show(session.sessionId, {
    generation: session.generation,
    state: 'transcript-missing',
    reason: 'transcript-missing',
    kind: 'transcript-missing',
    detail: { path: session.path },
  });
  session.shown = 'transcript-missing';
}

async function noteOnce(
  core: WatcherCore,
  session: WatchedSession,
  reason: 'transcript-undetermined' | 'transcript-unreadable',
  detail: Record<string, unknown>,
): Promise<void> {
  if (session.shown === reason) return;
  await core.store.note(session.sessionId, { kind: 'deferred', reason, detail }, `${reason}.${session.generation}`);
  session.shown = reason;
}

/** Reasons of a watch that Layer 3 leaves alone until a turn of the chat ends. */
const SHOWN_ONLY: ReadonlySet<DeliveryReason> = new Set(['turn-end-lost', 'found-hung']);

/** Takes generation and answered tasks from the record. `false`: the watch is over there, and so it is here. */
async function refresh(core: WatcherCore, session: WatchedSession): Promise<boolean> {
  const record = await core.store.find(session.sessionId);
  if (record === undefined || !record.armed || record.server !== session.server.id) {
    session.ended = true;
    return false;
  }
  session.generation = record.generation;
  session.answered = new Set(record.answeredTaskIds);
  session.auto = !record.userStopped && (record.auto || !SHOWN_ONLY.has(record.autoReason ?? 'recorded'));
  return true;
}
