import type { SessionRecord } from '#shared/session/record.js';
import type { EffectiveSettings, RecoverySettings } from '#shared/settings/recovery.js';
import { DECISION_REASONS, DELIVERY_REASONS } from '#shared/trail/reasons.js';
import { REASONS } from '#shared/transcript/finding.js';

/** Whether something may be done now, and if not, why. */
export type Allowed = { allowed: true } | { allowed: false; code: string; reason: string };

/** A session as the API serves it. Times are epoch milliseconds (Redis time). */
export function sessionView(record: SessionRecord) {
  const { notice, attempt } = record;
  return {
    sessionId: record.sessionId,
    server: record.server,
    project: record.project,
    state: record.state,
    reason: record.stateReason ?? null,
    reasonText: reasonText(record.stateReason),
    armed: record.armed,
    automatic: record.auto && !record.userStopped,
    automaticReason: record.autoReason ?? null,
    running: record.running,
    generation: record.generation,
    armedMs: record.armedMs ?? null,
    updatedMs: record.updatedMs,
    notice:
      notice === undefined
        ? null
        : { id: notice.id, firstSeenMs: notice.firstSeenMs, seenMs: notice.seenMs, tasks: notice.tasks.map(taskView) },
    attempt:
      attempt === undefined
        ? null
        : {
            id: attempt.id,
            kind: attempt.kind,
            try: attempt.try,
            phase: attempt.phase,
            outcome: attempt.outcome ?? null,
            detail: attempt.detail ?? null,
            claimedMs: attempt.claimedMs,
            sentMs: attempt.sentMs ?? null,
            settledMs: attempt.settledMs ?? null,
          },
  };
}
export type SessionView = ReturnType<typeof sessionView>;

function taskView(task: { id: string; status: string; summary: string; stamp: string }) {
  const { id, status, summary, stamp } = task;
  return { id, status, summary, stamp };
}

/** One session in full: with counters, what is allowed now, and the settings that decide it. */
export function sessionDetails(record: SessionRecord, settings: EffectiveSettings) {
  return {
    ...sessionView(record),
    path: record.path ?? null,
    counters: {
      tries: record.tries ?? 0,
      maxRetries: settings.values.maxRetries,
      refusals: record.refusals,
      manuals: record.manuals,
    },
    userStopped: record.userStopped,
    stoppedTaskIds: record.stoppedTaskIds,
    backgroundTasks: record.backgroundTasks,
    actions: actionsOf(record, settings.values),
    settings,
  };
}

/** What may be done with a session now, and if not, why. */
export function actionsOf(record: SessionRecord, settings: RecoverySettings) {
  return { continue: mayContinue(record, settings), endWatch: mayEndWatch(record) };
}

/** Whether Continue is offered. Only a hint: the worker reads transcript and session API and has the last word. */
export function mayContinue(record: SessionRecord, settings: RecoverySettings): Allowed {
  if (!settings.surfaceKilledTask) return refused('surface_off', DECISION_REASONS['surface-off']);
  if (record.state === 'closed') return refused('not_hung', DECISION_REASONS['session-closed']);
  if (record.running || record.state === 'nudging') return refused('busy', DECISION_REASONS['turn-running']);
  if (record.notice === undefined) return refused('not_hung', 'No killed task is known that nothing has answered.');
  return { allowed: true };
}

function mayEndWatch(record: SessionRecord): Allowed {
  return record.armed ? { allowed: true } : refused('not_armed', 'No watch is armed for this session.');
}

function refused(code: string, reason: string): Allowed {
  return { allowed: false, code, reason };
}

const WORDS: Record<string, string> = { ...REASONS, ...DELIVERY_REASONS, ...DECISION_REASONS };

/** A reason code in words; `null` where there is none. */
export function reasonText(reason: string | undefined): string | null {
  return reason === undefined ? null : (WORDS[reason] ?? reason);
}
