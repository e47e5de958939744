import type { JobData } from '#shared/queue/jobs.js';
import { planConfirm, planLimbo } from '#shared/queue/plan.js';
import { SessionApiFailure, type SessionDriver, type SessionStatus } from '#shared/session-api/driver.js';
import { RECORD_VERSION, type SessionRecord } from '#shared/session/record.js';
import type { NoticedResult } from '#shared/session/store.js';
import type { Finding } from '#shared/transcript/finding.js';
import { judge } from '#shared/transcript/signature.js';
import { confirm } from './confirm.ts';
import { decideClaim, decideHung, decideStatus, voidReason } from './decide.ts';
import { carryOut, later, type Case } from './hold.ts';
import { again, done, type Next } from './next.ts';
import { nudge, unreachable, type NudgeResult } from './nudge.ts';
import type { Run, WorkerParts } from './parts.ts';
import { isUnchanged, knowledgeOf, mustReadAgain, placeOf, readTranscript } from './reading.ts';
import { settled, unread } from './settled.ts';

type Job = JobData<'evaluate'>;
type Pending = Extract<Finding, { kind: 'pending' }>;

/**
 * Judges one session and nudges it where everything agrees: read → record → judge → decide → ask → claim → call → settle.
 *
 * A clean transcript ends it after the read, without asking Redis, unless the job is about a notice that stands. Throws
 * only when Redis or the disk fails; the job is then tried again and starts from the read.
 */
export async function evaluate(parts: WorkerParts, job: Job, run: Run): Promise<Next> {
  const first = await readTranscript(parts, job);
  if (first.kind === 'read' && first.finding.kind === 'settled' && job.noticeId === undefined) {
    if (first.finding.noticeId === undefined) return done('clean');
  }
  const context = await parts.store.context(job.sessionId);
  if (context.record !== undefined && context.record.version > RECORD_VERSION)
    return again('newer-record', context.nowMs + 5_000);
  if (job.why === 'confirm') return confirm(parts, job, context, first);
  const moot = voidReason(context, job.generation, parts.settings.watchMaxAgeMs);
  if (moot !== undefined || context.record === undefined) return done(moot ?? 'session-unknown');
  if (first.kind !== 'read') return unread(parts, context.record, first, job);

  const { record } = context;
  const knowledge = knowledgeOf(record);
  const outcome = mustReadAgain(first.finding, knowledge) ? await readTranscript(parts, job, knowledge) : first;
  if (outcome.kind !== 'read') return unread(parts, record, outcome, job);
  if (outcome.finding.kind === 'settled') return settled(parts, record, outcome.finding);
  return pending(parts, { job, run, finding: outcome.finding, file: outcome.file, context, record });
}

async function pending(parts: WorkerParts, found: Omit<Case, 'settings' | 'notice'>): Promise<Next> {
  const { job, finding, context, record } = found;
  await startAnewAfterSleep(parts, record, context.nowMs, finding.noticeId);
  const notice = await parts.store.noticed(job.sessionId, {
    generation: job.generation,
    noticeId: finding.noticeId,
    noticeKey: finding.noticeKey,
    wakeKey: finding.wakeKey,
    tasks: finding.tasks,
    cid: job.cid,
  });
  if (notice === undefined) return done('superseded');
  const { settings } = context;
  if (settings === undefined) return again('settings-unknown', notice.nowMs + 5_000);
  if (notice.isNew)
    await surface(parts, job, { ...notice, noticeId: finding.noticeId }, settings.values.limboTimeoutMs);
  if (notice.nudged) return done('already-nudged');

  const judgement = judge(finding, {
    nowMs: notice.nowMs,
    noticeSeenMs: notice.noticeSeenMs,
    wakeSeenMs: notice.wakeSeenMs,
    debounceMs: settings.values.debounceMs,
    wakeGraceMs: parts.settings.wakeGraceMs,
  });
  if (judgement.verdict !== 'hung') {
    const recheckAtMs = judgement.recheckAtMs;
    if (recheckAtMs === undefined) return done('verdict-busy');
    return again(judgement.reason === 'debounce' ? 'debounce' : 'verdict-busy', recheckAtMs, {
      noticeId: finding.noticeId,
    });
  }
  const fresh = {
    ...record,
    notice: record.notice?.id === finding.noticeId ? record.notice : standing(finding, notice),
  };
  return hung(parts, { ...found, settings, notice, record: fresh });
}

/** The record's notice as `noticed` has just written it, where the context was read before. */
function standing(finding: Pending, notice: NoticedResult): NonNullable<SessionRecord['notice']> {
  return {
    id: finding.noticeId,
    key: finding.noticeKey,
    seenMs: notice.noticeSeenMs,
    firstSeenMs: notice.firstSeenMs,
    wakeKey: finding.wakeKey,
    wakeSeenMs: notice.wakeSeenMs,
    tasks: finding.tasks,
    restarted: false,
  };
}

/** The host slept after the notice was first seen: nobody was looking, so the debounce counts from now (once). */
async function startAnewAfterSleep(
  parts: WorkerParts,
  record: SessionRecord,
  nowMs: number,
  noticeId: string,
): Promise<void> {
  const gapAgoMs = parts.lastGapAgoMs();
  if (gapAgoMs === undefined || record.notice?.id !== noticeId || record.notice.restarted) return;
  if (nowMs - record.notice.seenMs > gapAgoMs) await parts.store.restartDebounce(record.sessionId, noticeId);
}

/** The worker saw the notice before any watcher did: it counts it and plans its limbo. */
async function surface(
  parts: WorkerParts,
  job: Job,
  notice: NoticedResult & { noticeId: string },
  limboTimeoutMs: number,
): Promise<void> {
  parts.metrics.notices.inc();
  if (limboTimeoutMs === 0) return;
  const planned = planLimbo(job, notice, limboTimeoutMs);
  await parts.queue.add(planned.name, planned.data, planned.options);
}

async function hung(parts: WorkerParts, chat: Case): Promise<Next> {
  const { context, notice, record, settings, job } = chat;
  const decision = decideHung({
    nowMs: notice.nowMs,
    record,
    settings: settings.values,
    pause: context.pause,
    why: job.why,
    noticeFirstSeenMs: notice.firstSeenMs,
    maxNoticeAgeMs: parts.settings.maxNoticeAgeMs,
    settleLeftMs: Math.max(0, Math.ceil(parts.settings.settleMs - parts.uptimeMs())),
  });
  if (decision.do !== 'act') return carryOut(parts, chat, decision);

  const driver = parts.driver(record.server, record.project);
  if (driver === undefined || !driver.canSend)
    return carryOut(parts, chat, { do: 'end', reason: 'surface-only-driver' });
  if (!isOwnCallUnderWay(record, driver)) {
    const answer = await askSessionApi(parts, driver, chat);
    if (answer !== undefined) return answer;
  }
  if (parts.settings.dryRun) return dryRun(parts, chat);
  return act(parts, driver, chat);
}

/**
 * A call whose outcome is unknown is found out by repeating it, not by asking for the session's state: the key is looked up
 * before any busy check, so its own turn that runs by now is answered 202 again.
 */
function isOwnCallUnderWay({ attempt, generation }: SessionRecord, driver: SessionDriver): boolean {
  return driver.idempotent && attempt?.phase === 'sending' && attempt.generation === generation;
}

/** `undefined`: both views agree, go on. */
async function askSessionApi(parts: WorkerParts, driver: SessionDriver, chat: Case): Promise<Next | undefined> {
  let status: SessionStatus | undefined;
  try {
    status = await driver.state(chat.job.sessionId, chat.run.signal, placeOf(chat.record, chat.job.path));
  } catch (error) {
    if (!(error instanceof SessionApiFailure)) throw error;
    parts.metrics.sessionApiFailures.inc({ class: error.class });
    return stateFailed(parts, chat, error);
  }
  const decision = decideStatus(status, chat.notice.nowMs);
  return decision.do === 'act' ? undefined : carryOut(parts, chat, decision);
}

async function stateFailed(parts: WorkerParts, chat: Case, failure: SessionApiFailure): Promise<Next> {
  if (failure.class === 'gone') return carryOut(parts, chat, { do: 'end', reason: 'session-gone' });
  if (failure.class !== 'refused') return later(parts, chat, unreachable(parts, failure, chat.job.failures));
  await parts.store.show(chat.job.sessionId, {
    generation: chat.job.generation,
    state: 'failed',
    reason: 'api-refused',
    kind: 'failed',
    detail: { answer: failure.code },
  });
  return done('api-refused');
}

async function dryRun(parts: WorkerParts, chat: Case): Promise<Next> {
  const { finding, job } = chat;
  const detail = { notice: finding.noticeId, tasks: finding.tasks.map((task) => task.id) };
  await parts.store.note(job.sessionId, { kind: 'would-nudge', reason: 'dry-run', detail }, `dry:${finding.noticeId}`);
  return done('dry-run');
}

async function act(parts: WorkerParts, driver: SessionDriver, chat: Case): Promise<Next> {
  const { finding, job, record, run } = chat;
  const result = await nudge(parts, driver, run, {
    claim: {
      sessionId: job.sessionId,
      kind: 'auto',
      noticeId: finding.noticeId,
      generation: job.generation,
      nudgesInTranscript: finding.nudgesSinceHuman,
      humanPromptId: finding.lastHuman?.id,
      humanSinceNudge: isHumanSinceNudge(finding, record),
      cid: job.cid,
    },
    tasks: finding.tasks,
    place: placeOf(record, job.path),
    isCurrent: () => isUnchanged(parts, job, chat.file),
    failures: job.failures,
  });
  return afterNudge(parts, chat, result);
}

/** A prompt of the host's own (queue, schedule) also looks like one; its `turn.started` says otherwise (SPEC §4). */
const COVERS_MS = 30_000;

function isHumanSinceNudge({ lastHuman, nudgesSinceHuman }: Pending, record: SessionRecord): boolean {
  if (lastHuman === undefined || nudgesSinceHuman > 0) return false;
  if (lastHuman.certain) return true;
  const atMs = Date.parse(lastHuman.timestamp ?? '');
  return !record.otherStartsEventMs.some((startMs) => Math.abs(atMs - startMs) <= COVERS_MS);
}

async function afterNudge(parts: WorkerParts, chat: Case, result: NudgeResult): Promise<Next> {
  const { job, finding, notice } = chat;
  switch (result.kind) {
    case 'accepted': {
      chat.run.logger.info({ attempt: result.attemptId, turn: result.turnId }, 'Nudged.');
      const dueMs = result.settledMs + parts.settings.nudgeConfirmMs;
      const attempt = { id: result.attemptId, noticeId: finding.noticeId };
      const planned = planConfirm(job, attempt, { dueMs, nowMs: result.settledMs });
      await parts.queue.add(planned.name, planned.data, planned.options);
      return done('nudged');
    }
    case 'held':
      return carryOut(parts, chat, decideClaim(result.reason, notice.nowMs, result.retryAtMs));
    case 'busy':
      return carryOut(parts, chat, {
        do: 'wait',
        reason: result.reason,
        atMs: notice.nowMs + 1_000,
        counts: true,
      });
    case 'retry':
      return later(parts, chat, result);
    case 'ended':
      return done(
        result.outcome === 'unknown' ? 'outcome-unknown' : result.outcome === 'gone' ? 'session-gone' : 'api-refused',
      );
  }
}
