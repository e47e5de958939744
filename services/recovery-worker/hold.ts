import type { JobData } from '#shared/queue/jobs.js';
import type { SessionRecord } from '#shared/session/record.js';
import type { EvaluationContext, NoticedResult } from '#shared/session/store.js';
import type { EffectiveSettings } from '#shared/settings/recovery.js';
import type { DecisionReason } from '#shared/trail/reasons.js';
import type { FileMark, Finding } from '#shared/transcript/finding.js';
import { deferredTooLong, type Held } from './decide.ts';
import { again, done, type Next } from './next.ts';
import type { NudgeResult } from './nudge.ts';
import type { Run, WorkerParts } from './parts.ts';

/** One hung-looking chat with everything that is known of it. */
export interface Case {
  job: JobData<'evaluate'>;
  run: Run;
  finding: Extract<Finding, { kind: 'pending' }>;
  /** The file as it was read. */
  file: FileMark;
  context: EvaluationContext;
  record: SessionRecord;
  settings: EffectiveSettings;
  notice: NoticedResult;
}

/** The session API is away or asks for patience: the same job later, no state and no counter touched. */
export async function later(
  parts: WorkerParts,
  { job, notice, finding }: Case,
  { reason, afterMs, code }: Extract<NudgeResult, { kind: 'retry' }>,
): Promise<Next> {
  await parts.store.note(
    job.sessionId,
    { kind: 'deferred', reason, detail: { answer: code } },
    `${reason}:${finding.noticeId}`,
  );
  return again(reason, notice.nowMs + afterMs, { failures: job.failures + 1, noticeId: finding.noticeId });
}

export async function carryOut(parts: WorkerParts, chat: Case, decision: Held): Promise<Next> {
  return decision.do === 'end' ? end(parts, chat, decision) : wait(parts, chat, decision);
}

async function end(parts: WorkerParts, chat: Case, { reason, show }: Extract<Held, { do: 'end' }>): Promise<Next> {
  const { job, finding } = chat;
  if (reason === 'session-gone' || reason === 'session-closed') {
    await parts.store.endWatch(job.sessionId, reason);
  } else if (show === 'exhausted') {
    await parts.store.show(job.sessionId, { generation: job.generation, state: show, reason, kind: 'exhausted' });
  } else if (SHOWN_ONLY.has(reason)) {
    await parts.store.note(job.sessionId, { kind: 'shown-only', reason }, `${reason}:${finding.noticeId}`);
  }
  return done(reason);
}

/** Ends that a person may wonder about: one line each per hang. */
const SHOWN_ONLY: ReadonlySet<DecisionReason> = new Set([
  'auto-off',
  'user-stop',
  'notice-too-old',
  'drive-mode-unknown',
  'found-hung',
  'retries-zero',
  'surface-only-driver',
]);

async function wait(
  parts: WorkerParts,
  chat: Case,
  { reason, atMs, counts }: Extract<Held, { do: 'wait' }>,
): Promise<Next> {
  const { job, finding, notice } = chat;
  const firstDeferredMs = counts ? (job.firstDeferredMs ?? notice.nowMs) : job.firstDeferredMs;
  if (counts && deferredTooLong(firstDeferredMs, notice.nowMs)) {
    const detail = { because: reason, deferrals: job.deferrals };
    await parts.store.show(job.sessionId, {
      generation: job.generation,
      state: 'stood-down',
      reason: 'deferred-too-long',
      kind: 'stood-down',
      detail,
    });
    return done('deferred-too-long');
  }
  await parts.store.note(job.sessionId, { kind: 'deferred', reason }, `${reason}:${finding.noticeId}`);
  return again(reason, atMs, {
    noticeId: finding.noticeId,
    failures: 0,
    ...(counts ? { deferrals: job.deferrals + 1 } : {}),
    ...(firstDeferredMs === undefined ? {} : { firstDeferredMs }),
  });
}
