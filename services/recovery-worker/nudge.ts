import { backoffMs } from '#shared/session-api/backoff.js';
import { SessionApiFailure, type SessionDriver, type SessionPlace } from '#shared/session-api/driver.js';
import type { AttemptRef, ClaimResult, NudgeClaim } from '#shared/session/store.js';
import type { DecisionReason } from '#shared/trail/reasons.js';
import type { TaskNotice } from '#shared/transcript/finding.js';
import type { Run, WorkerParts } from './parts.ts';

/** A lease outlives the longest call by this much: the record follows the call. */
const LEASE_MARGIN_MS = 5_000;
/** A permission to call that took longer to come is asked for again. */
const PERMISSION_MS = 1_000;
/** A nudged turn holds its slot of the budget until it ends, at most this long (SPEC §4, budget). */
const SLOT_MS = 15 * 60_000;

/** What an attempt to nudge came to. */
export type NudgeResult =
  | { kind: 'accepted'; attemptId: string; turnId: string | undefined; settledMs: number }
  /** The claim or the last check before the call said no; nothing was sent. */
  | { kind: 'held'; reason: DecisionReason; retryAtMs: number | undefined }
  /** A definite "not now". */
  | { kind: 'busy'; reason: DecisionReason }
  /** Definite and for good: `gone` or `failed`; or not to be repeated: `unknown`. */
  | { kind: 'ended'; outcome: 'gone' | 'failed' | 'unknown'; code: string }
  /** To be repeated with the same key. */
  | { kind: 'retry'; reason: 'api-unreachable' | 'api-rate-limited'; afterMs: number; code: string };

export interface NudgeRequest {
  claim: Omit<NudgeClaim, 'owner' | 'leaseMs' | 'limits'>;
  tasks: TaskNotice[];
  /** Where the session is, for drivers that cannot ask its chat server. */
  place: SessionPlace;
  /** Whether the transcript is still what the decision was made from. */
  isCurrent: () => Promise<boolean>;
  /** Tries that failed in a row before this one: the back-off's exponent. */
  failures: number;
}

/**
 * Claim, call, settle: the exactly-once path.
 *
 * The counter is raised and the intent is in Redis before the call leaves. Whoever repeats this for the same hang, after
 * whatever crash, gets the same attempt and sends the same key. Throws only the store's errors: then nothing is known to
 * have failed, and the next run goes on where this one stopped.
 */
export async function nudge(
  parts: WorkerParts,
  driver: SessionDriver,
  run: Run,
  request: NudgeRequest,
): Promise<NudgeResult> {
  const leaseMs = parts.settings.sessionApiTimeoutMs + LEASE_MARGIN_MS;
  const claim = await parts.store.claimNudge({
    ...request.claim,
    owner: run.owner,
    leaseMs,
    limits: {
      maxNudgesPerHour: parts.settings.maxNudgesPerHour,
      maxConcurrent: parts.settings.maxConcurrent,
      slotMs: SLOT_MS,
    },
  });
  if (!claim.ok) return { kind: 'held', reason: claim.reason, retryAtMs: claim.retryAtMs };
  const ref: AttemptRef = { sessionId: request.claim.sessionId, attemptId: claim.attemptId, owner: run.owner };
  if (claim.phase === 'sending' && !driver.idempotent) return settleUnknown(parts, ref, request, 'crash-after-sending');
  const refusal = await lastLook(parts, { ref, request, claim }, leaseMs);
  if (refusal !== undefined) return { kind: 'held', reason: refusal, retryAtMs: undefined };
  return call(parts, driver, run, { ref, request, claim });
}

/**
 * Both views once more, directly before the call: what was read and asked may be seconds old by now (a slow Redis, a process
 * that was stopped), time enough for a person's whole turn. Redis may say no; its yes counts only while it is young; and
 * the transcript must be the one that was judged. What was not sent is given back.
 */
async function lastLook(
  parts: WorkerParts,
  { ref, request, claim }: Call,
  leaseMs: number,
): Promise<DecisionReason | undefined> {
  for (let asked = 1; ; asked += 1) {
    const askedMs = performance.now();
    const permission = await parts.store.sending(ref, leaseMs);
    if (!permission.ok) {
      if (asked > 1) await unsent(parts, { ref, request, claim }, permission.reason);
      return permission.reason;
    }
    if (!(await request.isCurrent())) {
      await unsent(parts, { ref, request, claim }, 'transcript-changed');
      return 'transcript-changed';
    }
    if (performance.now() - askedMs <= PERMISSION_MS) return undefined;
  }
}

/** Allowed, and not sent after all. */
async function unsent(parts: WorkerParts, { ref, request, claim }: Call, reason: DecisionReason): Promise<void> {
  if (reason === 'attempt-under-way') return;
  // An earlier run of this attempt may have sent it: its outcome stays unknown.
  if (claim.phase === 'sending') await parts.store.releaseLease(ref, { unknown: claim.unknownBefore, detail: reason });
  else await settle(parts, ref, request, { outcome: 'void', detail: reason });
}

interface Call {
  ref: AttemptRef;
  request: NudgeRequest;
  claim: Extract<ClaimResult, { ok: true }>;
}

async function call(
  parts: WorkerParts,
  driver: SessionDriver,
  run: Run,
  { ref, request, claim }: Call,
): Promise<NudgeResult> {
  const label = parts.settings.nudgeLabel;
  const text = parts.nudgeText({
    label,
    tasks: request.tasks,
    try: claim.try,
    maxRetries: claim.maxRetries,
    kind: request.claim.kind,
  });
  let turnId: string | undefined;
  try {
    const message = {
      sessionId: ref.sessionId,
      text,
      label,
      idempotencyKey: ref.attemptId,
      place: request.place,
    };
    ({ turnId } = await driver.send(message, run.signal));
  } catch (error) {
    return failed(parts, driver, { ref, request, claim }, asFailure(error));
  }
  const settledMs = await settle(parts, ref, request, { outcome: 'accepted', detail: undefined, turnId });
  return { kind: 'accepted', attemptId: ref.attemptId, turnId, settledMs };
}

/** A driver throws nothing else; if one does, the call may have arrived. */
function asFailure(error: unknown): SessionApiFailure {
  if (error instanceof SessionApiFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new SessionApiFailure({ class: 'network', code: 'unexpected', message, mayHaveArrived: true, cause: error });
}

async function failed(
  parts: WorkerParts,
  driver: SessionDriver,
  { ref, request, claim }: Call,
  failure: SessionApiFailure,
): Promise<NudgeResult> {
  parts.metrics.sessionApiFailures.inc({ class: failure.class });
  switch (failure.class) {
    case 'busy':
      return refused(parts, ref, request, claim, failure);
    case 'gone':
      await settle(parts, ref, request, { outcome: 'gone', detail: failure.code });
      return { kind: 'ended', outcome: 'gone', code: failure.code };
    case 'refused':
      await settle(parts, ref, request, { outcome: 'failed', detail: failure.code });
      return { kind: 'ended', outcome: 'failed', code: failure.code };
    case 'rate-limited':
    case 'transient':
    case 'network':
      return repeatable(parts, driver, ref, request, failure);
  }
}

/**
 * A definite refusal gives the retry back. One that follows an unknown outcome does not: that attempt stays as it is, and
 * its next try carries the same key, so a call that did arrive is found out instead of doubled.
 */
async function refused(
  parts: WorkerParts,
  ref: AttemptRef,
  request: NudgeRequest,
  claim: Call['claim'],
  failure: SessionApiFailure,
): Promise<NudgeResult> {
  const reason = busyReason(failure.code);
  if (claim.unknownBefore) await parts.store.releaseLease(ref, { unknown: true, detail: failure.code });
  else await settle(parts, ref, request, { outcome: 'refused', detail: reason });
  return { kind: 'busy', reason };
}

function busyReason(code: string): DecisionReason {
  if (code === 'queued_follow_up') return 'queued-follow-up';
  if (code === 'process_alive') return 'process-alive';
  return code === 'waiting' ? 'waiting' : 'turn-running';
}

async function repeatable(
  parts: WorkerParts,
  driver: SessionDriver,
  ref: AttemptRef,
  request: NudgeRequest,
  failure: SessionApiFailure,
): Promise<NudgeResult> {
  if (failure.mayHaveArrived && !driver.idempotent) return settleUnknown(parts, ref, request, failure.code);
  await parts.store.releaseLease(ref, { unknown: failure.mayHaveArrived, detail: failure.code });
  return unreachable(parts, failure, request.failures);
}

/** The wait that an unreachable session API asks for; shared with the question for the session's state. */
export function unreachable(
  parts: WorkerParts,
  failure: SessionApiFailure,
  failures: number,
): Extract<NudgeResult, { kind: 'retry' }> {
  return {
    kind: 'retry',
    reason: failure.class === 'rate-limited' ? 'api-rate-limited' : 'api-unreachable',
    afterMs: backoffMs(failures + 1, parts.random(), failure.retryAfterMs),
    code: failure.code,
  };
}

async function settleUnknown(
  parts: WorkerParts,
  ref: AttemptRef,
  request: NudgeRequest,
  code: string,
): Promise<NudgeResult> {
  await settle(parts, ref, request, { outcome: 'unknown', detail: code });
  return { kind: 'ended', outcome: 'unknown', code };
}

/** Resolves with Redis' time of it. */
async function settle(
  parts: WorkerParts,
  ref: AttemptRef,
  request: NudgeRequest,
  settlement: Parameters<WorkerParts['store']['settleNudge']>[1],
): Promise<number> {
  const result = await parts.store.settleNudge(ref, { ...settlement, cid: request.claim.cid });
  if (result.applied) parts.metrics.nudges.inc({ kind: request.claim.kind, outcome: result.outcome });
  if (result.pausedItself) {
    parts.logger.error(
      { sessionId: ref.sessionId, cid: request.claim.cid },
      'Five nudges in a row had no effect: recovery has paused itself.',
    );
  }
  return result.nowMs;
}
