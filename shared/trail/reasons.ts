/**
 * Every reason that a decision, a delivery's answer or a state can carry, one line each.
 *
 * One exported union: `docs/verdicts.md` and the page take their words from here.
 */

/** Why a delivery armed nothing, or armed without Layer 3. */
export const DELIVERY_REASONS = {
  armed: 'The watch is armed.',
  'surface-only': 'Automatic recovery is off for this project: a killed task is shown, not nudged.',
  'batch-mode': 'Batch-mode turns keep no session alive: nothing to recover.',
  'layers-off': 'Both layers are off for this project.',
  'user-interrupted': 'The user interrupted the turn: shown, never nudged automatically.',
  'turn-end-lost': 'The turn’s end never came, or was lost with a failed-over Redis: armed from the transcript.',
  'found-hung': 'The chat hung already when it was first seen: shown, not nudged.',
  'stale-event': 'A newer event of this session was already applied.',
  'duplicate-event': 'The same event was already applied.',
  recorded: 'The event was recorded.',
  'unknown-session': 'Nothing is known of this session yet; the event was recorded for its order.',
} as const satisfies Record<string, string>;
export type DeliveryReason = keyof typeof DELIVERY_REASONS;

/** Why an evaluation did not nudge, deferred, or ended a recovery. */
export const DECISION_REASONS = {
  'auto-off': 'Automatic recovery is off for this project.',
  'surface-off': 'Showing killed tasks is off for this project.',
  'cap-reached': 'The automatic nudges between two human messages are used up.',
  'retries-zero': 'maxRetries is 0: no automatic nudge.',
  'user-stop': 'A person stopped the task or interrupted the turn.',
  'drive-mode-unknown': 'No turn’s end has said whether this chat is in batch mode: shown, not nudged.',
  'found-hung': 'The chat hung already when it was first seen: shown, not nudged.',
  'notice-too-old': 'The notice is older than the age limit: shown, not nudged.',
  paused: 'Recovery is paused.',
  'paused-itself': 'Recovery paused itself after five nudges in a row without effect.',
  'budget-hour': 'The hourly budget of nudges is used up.',
  'budget-concurrent': 'As many nudged turns are running as the limit allows.',
  settling: 'The worker has just started and lets things settle.',
  'dry-run': 'Dry run: everything but the call.',
  'host-slept': 'The host slept: the debounce starts anew.',
  debounce: 'The notice has not stood un-answered for the debounce yet.',
  'verdict-busy': 'The transcript says that something is about to move the chat.',
  'verdict-error': 'The chat ended in an API error: a nudge cannot help now.',
  'verdict-clear': 'The chat is not hung.',
  'turn-running': 'The session API says that a turn is running.',
  'queued-follow-up': 'The session API says that a follow-up is queued.',
  waiting: 'The session API says that the chat waits for a permission or an answer.',
  'process-alive': 'A live process holds the session: resuming it from outside would write false notices.',
  'attempt-under-way': 'Another attempt for this session is under way.',
  'already-nudged': 'This hang was already nudged; it is not repeated by itself.',
  'transcript-changed': 'The transcript changed between the decision and the call: it is judged anew.',
  'deferred-too-long': 'Busy past the deferral bound.',
  superseded: 'A newer event of the session made this work void.',
  'session-closed': 'The session is closed.',
  'session-gone': 'The session API does not know the session any more.',
  'session-unknown': 'There is no record of this session.',
  'newer-record': 'The record was written by a newer version of this program.',
  'settings-unknown': 'No settings are published for this project yet.',
  'api-refused': 'The session API refused the call for good.',
  'api-unreachable': 'The session API cannot be reached; tried again.',
  'api-rate-limited': 'The session API asked to wait.',
  'outcome-unknown': 'The call may have arrived; it is not repeated.',
  'no-effect': 'The nudge was accepted and no entry followed.',
  'surface-only-driver': 'The session’s driver can only show, not nudge.',
  'transcript-missing': 'The transcript is nowhere under the allowed roots.',
  'transcript-undetermined': 'The transcript could not be decided within the scan limit.',
  'transcript-unreadable': 'The transcript cannot be read.',
  'work-too-old': 'The job is past its age: ended without effect.',
  'watch-too-old': 'The watch reached its greatest age.',
  'watch-ended': 'An operator ended the watch.',
  limbo: 'Silent past limboTimeoutMs after a killed task.',
  'agent-crashed': 'The chat server reported that the agent crashed.',
} as const satisfies Record<string, string>;
export type DecisionReason = keyof typeof DECISION_REASONS;

export type StateReason = DecisionReason | DeliveryReason;

/** What a line of the trail tells. */
export const TRAIL_KINDS = [
  'turn-ended',
  'turn-started',
  'human-message',
  'task-stopped',
  'session-closed',
  'killed-task',
  'cleared',
  'deferred',
  'stood-down',
  'claimed',
  'sending',
  'nudged',
  'refused',
  'failed',
  'void',
  'unconfirmed',
  'recovered',
  'exhausted',
  'stuck',
  'error-entry',
  'would-nudge',
  'shown-only',
  'watch-ended',
  'transcript-missing',
  'paused',
  'resumed',
] as const;
export type TrailKind = (typeof TRAIL_KINDS)[number];

/** One line of the trail, as stored (JSON) and as served. */
export interface TrailEntry {
  /** Redis time, epoch milliseconds. */
  atMs: number;
  sessionId: string;
  server: string;
  project: string;
  kind: TrailKind;
  reason?: string;
  /** Attempt, notice, tasks and the like: small, for people. */
  detail?: Record<string, unknown>;
}
