import type { EvaluationContext, PauseState } from '#shared/session/store.js';
import type { SessionRecord } from '#shared/session/record.js';
import type { RecoverySettings } from '#shared/settings/recovery.js';
import type { SessionStatus } from '#shared/session-api/driver.js';
import type { JobData } from '#shared/queue/jobs.js';
import type { DecisionReason } from '#shared/trail/reasons.js';

/**
 * The decision, without I/O and without a clock of its own: what to do about a chat whose transcript says `hung`.
 *
 * Everything that must hold at the very moment of acting is checked once more by `claimNudge.lua`; this comes before it
 * so that a chat server is not asked in vain and so that every refusal has its reason.
 */
export type Decision =
  /** Go on: ask the session API, then claim. */
  | { do: 'act' }
  /** Not now: the same job again. `counts`: toward the deferral bound. */
  | { do: 'wait'; reason: DecisionReason; atMs: number; counts: boolean }
  /** Not at all; `show` where people are to see a state for it. */
  | { do: 'end'; reason: DecisionReason; show?: 'exhausted' };

/** Every decision but the one to go on. */
export type Held = Exclude<Decision, { do: 'act' }>;

/** A paused recovery looks again this often; resuming takes effect within it. */
export const PAUSE_POLL_MS = 5_000;
/** Deferral: re-checked each second, at most 30 s (SPEC §4, no double dispatch). */
export const DEFER_EVERY_MS = 1_000;
export const DEFER_AT_MOST_MS = 30_000;
/** With the hourly budget used up, its slot may be freed earlier than computed by a nudge that is given back. */
const BUDGET_POLL_MS = 60_000;
const SLOT_POLL_MS = 1_000;
/** A transcript that is being written is read again after this long. */
const CHANGED_MS = 250;

/** Reasons why a backstop step may try again what the session API refused for good. */
const BACKSTOPS: ReadonlySet<JobData<'evaluate'>['why']> = new Set(['turn-end', 'sweep', 'settings', 'start']);

export interface HungChat {
  nowMs: number;
  record: SessionRecord;
  settings: RecoverySettings;
  pause: PauseState;
  why: JobData<'evaluate'>['why'];
  noticeFirstSeenMs: number;
  maxNoticeAgeMs: number;
  /** Time until this worker has settled after its start; 0: settled. */
  settleLeftMs: number;
}

/** Before anybody is asked. */
export function decideHung(chat: HungChat): Decision {
  const { nowMs, record, settings } = chat;
  if (!settings.autoReDrive) return { do: 'end', reason: 'auto-off' };
  if (record.userStopped || everyTaskStopped(record)) return { do: 'end', reason: 'user-stop' };
  if (isDriveUnknown(record)) return { do: 'end', reason: 'drive-mode-unknown' };
  if (record.autoReason === 'found-hung' && !record.auto) return { do: 'end', reason: 'found-hung' };
  if (nowMs - chat.noticeFirstSeenMs > chat.maxNoticeAgeMs) return { do: 'end', reason: 'notice-too-old' };
  if (settings.maxRetries === 0) return { do: 'end', reason: 'retries-zero' };
  if (refusedForGood(record) && !BACKSTOPS.has(chat.why)) return { do: 'end', reason: 'api-refused' };
  if (chat.pause.paused) return pausedDecision(chat.pause, nowMs);
  if (chat.settleLeftMs > 0) return { do: 'wait', reason: 'settling', atMs: nowMs + chat.settleLeftMs, counts: false };
  return { do: 'act' };
}

/** Armed in the place of a lost turn end, and no turn end ever came: it may be a batch, which is never nudged. */
function isDriveUnknown({ autoReason, auto }: SessionRecord): boolean {
  return autoReason === 'turn-end-lost' && !auto;
}

function everyTaskStopped(record: SessionRecord): boolean {
  const tasks = record.notice?.tasks ?? [];
  return tasks.length > 0 && tasks.every((task) => record.stoppedTaskIds.includes(task.id));
}

function refusedForGood({ attempt, notice }: SessionRecord): boolean {
  return attempt?.phase === 'settled' && attempt.outcome === 'failed' && attempt.noticeId === notice?.id;
}

function pausedDecision(pause: PauseState, nowMs: number): Decision {
  const reason = pause.by === 'itself' ? 'paused-itself' : 'paused';
  return { do: 'wait', reason, atMs: nowMs + PAUSE_POLL_MS, counts: false };
}

/** What the session API's view makes of it: both views must agree. */
export function decideStatus(status: SessionStatus | undefined, nowMs: number): Decision {
  if (status === undefined) return { do: 'end', reason: 'session-gone' };
  if (status.state === 'closed') return { do: 'end', reason: 'session-closed' };
  const reason = busyReason(status);
  return reason === undefined ? { do: 'act' } : { do: 'wait', reason, atMs: nowMs + DEFER_EVERY_MS, counts: true };
}

function busyReason(status: SessionStatus): DecisionReason | undefined {
  if (status.state === 'running') return status.busyCode === 'process_alive' ? 'process-alive' : 'turn-running';
  if (status.state === 'waiting') return 'waiting';
  return status.queuedFollowUp ? 'queued-follow-up' : undefined;
}

/** What a claim that was not granted means. */
export function decideClaim(reason: DecisionReason, nowMs: number, retryAtMs: number | undefined): Held {
  const wait = (atMs: number): Held => ({ do: 'wait', reason, atMs: Math.max(atMs, nowMs + 1), counts: false });
  switch (reason) {
    case 'cap-reached':
      return { do: 'end', reason, show: 'exhausted' };
    case 'paused':
    case 'paused-itself':
      return wait(nowMs + PAUSE_POLL_MS);
    case 'budget-hour':
      return wait(Math.min(retryAtMs ?? nowMs + BUDGET_POLL_MS, nowMs + BUDGET_POLL_MS));
    case 'budget-concurrent':
      return wait(nowMs + SLOT_POLL_MS);
    case 'transcript-changed':
      return { do: 'wait', reason, atMs: nowMs + CHANGED_MS, counts: true };
    case 'attempt-under-way':
      return wait(retryAtMs ?? nowMs + DEFER_EVERY_MS);
    case 'newer-record':
      return wait(nowMs + PAUSE_POLL_MS);
    default:
      return { do: 'end', reason };
  }
}

/** Deferrals that count are bounded: the attempt stands down, the watch goes on. */
export function deferredTooLong(firstDeferredMs: number | undefined, nowMs: number): boolean {
  return firstDeferredMs !== undefined && nowMs - firstDeferredMs >= DEFER_AT_MOST_MS;
}

/** Why this job has nothing to do with the session as it stands now; `undefined`: it is still its work. */
export function voidReason(
  { record, nowMs }: EvaluationContext,
  generation: number,
  watchMaxAgeMs: number,
): DecisionReason | undefined {
  if (record === undefined) return 'session-unknown';
  if (record.state === 'closed') return 'session-closed';
  if (!record.armed || record.generation !== generation) return 'superseded';
  if (record.armedMs !== undefined && nowMs - record.armedMs > watchMaxAgeMs) return 'work-too-old';
  return undefined;
}
