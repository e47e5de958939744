import type { JobData } from '#shared/queue/jobs.js';
import { planConfirm } from '#shared/queue/plan.js';
import { SessionApiFailure, type SessionDriver } from '#shared/session-api/driver.js';
import type { SessionRecord } from '#shared/session/record.js';
import type { DecisionReason } from '#shared/trail/reasons.js';
import type { Finding } from '#shared/transcript/finding.js';
import { judge } from '#shared/transcript/signature.js';
import { decideStatus } from './decide.ts';
import { nudge, type NudgeResult } from './nudge.ts';
import type { Run, WorkerParts } from './parts.ts';
import { isUnchanged, knowledgeOf, placeOf, readTranscript } from './reading.ts';

/** What a press on Continue came to; the watcher makes an HTTP answer of it. */
export type ContinueResult =
  | { result: 'nudged'; attemptId: string; turnId: string | undefined }
  | { result: 'unconfirmed'; attemptId: string | undefined; detail: string }
  | { result: 'busy' | 'not_hung' | 'surface_off' | 'unknown' | 'gone'; reason: DecisionReason }
  | { result: 'unavailable'; part: 'session-api' | 'transcript' | 'watcher'; detail: string };

/**
 * The manual re-drive: the same claim, call and settlement as an automatic one, but a person decided. So no debounce, no cap,
 * no budget and no pause; it neither counts nor resets. A busy chat and one that is not hung are refused all the same.
 */
export async function continueSession(parts: WorkerParts, job: JobData<'continue'>, run: Run): Promise<ContinueResult> {
  const { record, settings } = await parts.store.context(job.sessionId);
  if (record === undefined) return { result: 'unknown', reason: 'session-unknown' };
  if (record.state === 'closed') return { result: 'gone', reason: 'session-closed' };
  if (settings === undefined)
    return { result: 'unavailable', part: 'watcher', detail: 'no settings are published yet' };
  if (!settings.values.surfaceKilledTask) return { result: 'surface_off', reason: 'surface-off' };

  const work = { ...job, path: record.path ?? job.path };
  const outcome = await readTranscript(parts, work, knowledgeOf(record));
  if (outcome.kind !== 'read') return { result: 'unavailable', part: 'transcript', detail: outcome.kind };
  const noticeId = await standingNotice(parts, record, outcome.finding);
  if (typeof noticeId !== 'string') return noticeId;

  const driver = parts.driver(record.server, record.project);
  if (driver === undefined || !driver.canSend) {
    return { result: 'unavailable', part: 'session-api', detail: 'this chat server’s driver can only show' };
  }
  const refusal = await askSessionApi(parts, driver, { record, job, run });
  if (refusal !== undefined) return refusal;
  const result = await nudge(parts, driver, run, {
    claim: {
      sessionId: job.sessionId,
      kind: 'manual',
      noticeId,
      generation: record.generation,
      nudgesInTranscript: outcome.finding.nudgesSinceHuman,
      humanPromptId: outcome.finding.lastHuman?.id,
      humanSinceNudge: false,
      cid: job.cid,
    },
    tasks: outcome.finding.tasks,
    place: placeOf(record, job.path),
    isCurrent: () => isUnchanged(parts, work, outcome.file),
    failures: 0,
  });
  if (result.kind === 'accepted') await planItsConfirm(parts, job, record, { id: result.attemptId, noticeId });
  return answer(result);
}

/** The notice that a Continue answers, recorded; or why there is none to answer. */
async function standingNotice(
  parts: WorkerParts,
  record: SessionRecord,
  finding: Finding,
): Promise<string | ContinueResult> {
  const { noticeId } = finding;
  if (finding.kind === 'settled' && finding.verdict === 'busy-or-waiting')
    return { result: 'busy', reason: 'verdict-busy' };
  const isError = finding.kind === 'settled' && finding.verdict === 'error-entry';
  if (noticeId === undefined || (finding.kind === 'settled' && !isError)) {
    return { result: 'not_hung', reason: 'verdict-clear' };
  }
  const noticed = await parts.store.noticed(record.sessionId, {
    generation: record.generation,
    noticeId,
    noticeKey: finding.kind === 'pending' ? finding.noticeKey : noticeId,
    wakeKey: finding.kind === 'pending' ? finding.wakeKey : undefined,
    tasks: finding.tasks,
  });
  if (noticed === undefined) return { result: 'busy', reason: 'superseded' };
  if (finding.kind === 'pending') {
    const { verdict } = judge(finding, {
      nowMs: noticed.nowMs,
      noticeSeenMs: noticed.noticeSeenMs,
      wakeSeenMs: noticed.wakeSeenMs,
      // A person saw the notice and decided: only a wake that may be under way still counts.
      debounceMs: 0,
      wakeGraceMs: parts.settings.wakeGraceMs,
    });
    if (verdict !== 'hung') return { result: 'busy', reason: 'verdict-busy' };
  }
  return noticeId;
}

async function askSessionApi(
  parts: WorkerParts,
  driver: SessionDriver,
  { record, job, run }: { record: SessionRecord; job: JobData<'continue'>; run: Run },
): Promise<ContinueResult | undefined> {
  try {
    const status = await driver.state(record.sessionId, run.signal, placeOf(record, job.path));
    const decision = decideStatus(status, 0);
    if (decision.do === 'act') return undefined;
    return { result: decision.do === 'end' ? 'gone' : 'busy', reason: decision.reason };
  } catch (error) {
    if (!(error instanceof SessionApiFailure)) throw error;
    parts.metrics.sessionApiFailures.inc({ class: error.class });
    return { result: 'unavailable', part: 'session-api', detail: error.code };
  }
}

async function planItsConfirm(
  parts: WorkerParts,
  job: JobData<'continue'>,
  record: SessionRecord,
  attempt: { id: string; noticeId: string },
): Promise<void> {
  const nowMs = await parts.store.now();
  const work = { ...job, generation: record.generation, path: record.path ?? job.path };
  const planned = planConfirm(work, attempt, { dueMs: nowMs + parts.settings.nudgeConfirmMs, nowMs });
  await parts.queue.add(planned.name, planned.data, planned.options);
}

const HELD_AS_BUSY: ReadonlySet<DecisionReason> = new Set([
  'attempt-under-way',
  'already-nudged',
  'superseded',
  'newer-record',
  'transcript-changed',
]);

function answer(result: NudgeResult): ContinueResult {
  switch (result.kind) {
    case 'accepted':
      return { result: 'nudged', attemptId: result.attemptId, turnId: result.turnId };
    case 'busy':
      return { result: 'busy', reason: result.reason };
    case 'held':
      if (result.reason === 'surface-off') return { result: 'surface_off', reason: result.reason };
      if (HELD_AS_BUSY.has(result.reason)) return { result: 'busy', reason: result.reason };
      return { result: 'gone', reason: result.reason };
    case 'retry':
      return { result: 'unavailable', part: 'session-api', detail: result.code };
    case 'ended':
      if (result.outcome === 'gone') return { result: 'gone', reason: 'session-gone' };
      if (result.outcome === 'failed') return { result: 'unavailable', part: 'session-api', detail: result.code };
      return { result: 'unconfirmed', attemptId: undefined, detail: result.code };
  }
}
