import type { LifecycleEvent } from './events.ts';
import type { AttemptOutcome, SessionRecord, SessionState } from './record.ts';
import type { Finding } from '#shared/transcript/finding.js';
import type { DecisionReason, DeliveryReason, TrailEntry, TrailKind } from '#shared/trail/reasons.js';
import type { EffectiveSettings } from '#shared/settings/recovery.js';

/**
 * The session record and every atomic change of it: the seam between the services and Redis.
 *
 * Each method that changes something is one Lua script, is idempotent under a resend, takes its time from Redis, and writes
 * its own line of the trail in the same step. All throw the connection's error when Redis is away; none retries by itself.
 */
export interface SessionStore {
  /**
   * Applies a lifecycle event: order, ownership, record, generation and the delivery's mark in one step.
   * Repeating the same `deliveryId` changes nothing and gives the first answer again, job included.
   */
  applyEvent(delivery: Delivery): Promise<DeliveryResult>;

  find(sessionId: string): Promise<SessionRecord | undefined>;
  /** Newest change first. `cursor` is the `next` of the page before. */
  list(query: SessionQuery): Promise<{ sessions: SessionRecord[]; next: string | undefined }>;
  /** The session's own trail, oldest first. */
  trail(sessionId: string): Promise<TrailEntry[]>;

  /**
   * Everything an evaluation needs, in one round trip; `settings` as published for the session's project.
   */
  context(sessionId: string): Promise<EvaluationContext>;

  /**
   * A finding with an un-answered notice was read. Records it, or keeps the first-seen times of what is known already.
   * Returns `undefined` where the record is gone, closed, or of another generation.
   */
  noticed(sessionId: string, finding: PendingNotice): Promise<NoticedResult | undefined>;
  /** The host slept: first-seen of the standing notice becomes now; once per notice. True where it did. */
  restartDebounce(sessionId: string, noticeId: string): Promise<boolean>;
  /** The notice is answered or gone: clears it, keeps the ids, and turns `nudged` into `recovered` where a nudge was behind. */
  cleared(sessionId: string, cleared: ClearedNotice): Promise<'recovered' | 'cleared' | 'nothing'>;

  /** Raises the counter and records the intent, or says which guard held it. The only way to a nudge. */
  claimNudge(claim: NudgeClaim): Promise<ClaimResult>;
  /** Directly before the call: lease, generation and pause once more. `false`: do not call. */
  sending(ref: AttemptRef, leaseMs: number): Promise<SendingResult>;
  /** What became of the call. Idempotent: the first settlement stands. */
  settleNudge(ref: AttemptRef, settlement: Settlement): Promise<SettleResult>;
  /** The call failed in a way that may be repeated with the same key: gives up the lease, keeps the attempt. */
  releaseLease(ref: AttemptRef, failure: { unknown: boolean; detail: string }): Promise<void>;
  /** A confirm came due: `unconfirmed` where the attempt stands settled and no reply was seen. True where it changed. */
  unconfirmed(sessionId: string, attemptId: string): Promise<boolean>;

  /** Sets a state that only shows (`stuck`, `stood-down`, `exhausted`, `error`, `failed`, `transcript-missing`). Once per notice and state. */
  show(sessionId: string, shown: ShownState): Promise<boolean>;
  /** A line in the trail without a change (deferred, would-nudge). With `once`, one line per that key and session. */
  note(
    sessionId: string,
    entry: { kind: TrailKind; reason?: string; detail?: Record<string, unknown> },
    once?: string,
  ): Promise<boolean>;

  /** Ends one session's watch by an operator's hand; pending work is void. `false`: unknown session. */
  endWatch(sessionId: string, reason: DecisionReason): Promise<boolean>;

  pause(by: string): Promise<void>;
  resume(by: string): Promise<void>;
  paused(): Promise<PauseState>;

  /** Watcher only: the effective settings of one project of one server. Unchanged ones are not written again. */
  publishSettings(server: string, project: string, settings: EffectiveSettings): Promise<void>;

  /**
   * Takes up to `limit` armed sessions whose backstop step is due (has been for `overdueMs`) and puts each off by `holdMs`,
   * so that nobody else takes the same one; `reschedule` then names the real next time.
   */
  takeDue(limit: number, holdMs: number, overdueMs?: number): Promise<DueSession[]>;
  reschedule(entries: { sessionId: string; generation: number; atMs: number }[]): Promise<void>;
  /** Every armed session, in pages, for the catch-up at start. */
  armedSessions(
    cursor: string | undefined,
    limit: number,
  ): Promise<{ sessions: DueSession[]; next: string | undefined }>;
  armedCount(): Promise<number>;
  /**
   * Sessions without a watch whose newest event says that a turn began and none that it ended, and to which nothing has
   * happened for `beforeMs`, but something within `sinceMs`. In pages; closed, released and batch-mode ones are left out.
   * `all`: by every record, not by the index of such sessions, which earlier versions did not keep.
   */
  unwatched(
    span: { sinceMs: number; beforeMs: number; all: boolean },
    cursor: string | undefined,
    limit: number,
  ): Promise<{ sessions: UnwatchedSession[]; next: string | undefined }>;
  /**
   * Arms a session whose turn end is lost, under a new generation; `undefined` where anything has happened to it meanwhile,
   * a resend of this included: the sweep then finds it armed.
   */
  rearm(
    sessionId: string,
    watch: { generation: number; path: string },
  ): Promise<{ generation: number; auto: boolean; dueMs: number; nowMs: number } | undefined>;
  /** Redis time, epoch milliseconds. */
  now(): Promise<number>;
}

export interface Delivery {
  /** `webhook-id`; the mark lives as long as the signature's tolerance on both sides. */
  deliveryId: string;
  server: string;
  source: SessionRecord['source'];
  event: LifecycleEvent;
  /** Ids of all chat servers that the settings know: an owner that is none of them has lost its sessions. */
  knownServers: readonly string[];
  /** Correlation id for the trail. */
  cid?: string;
  /** For `turn.ended`: the confined path, and what the settings say. */
  arm?: { path: string; armed: boolean; auto: boolean; reason: DeliveryReason };
}

export interface DeliveryResult {
  /** `other-owner` is the caller's 409. */
  outcome: 'applied' | 'duplicate' | 'stale' | 'other-owner';
  owner: string;
  armed: boolean;
  reason: DeliveryReason;
  generation: number;
  /** The first step: its job is to be on the queue before the answer, on a duplicate too (a crash between record and job heals). */
  step: { dueMs: number; nowMs: number } | undefined;
}

export interface EvaluationContext {
  nowMs: number;
  record: SessionRecord | undefined;
  settings: EffectiveSettings | undefined;
  pause: PauseState;
}

export interface PauseState {
  paused: boolean;
  /** Who: `operator`, `itself` (five nudges in a row without effect), or a name that the operator gave. */
  by: string | undefined;
  sinceMs: number | undefined;
}

/** The parts of a finding that the record keeps. */
export interface PendingNotice {
  generation: number;
  noticeId: string;
  noticeKey: string;
  wakeKey: string | undefined;
  tasks: Finding['tasks'];
  /** Correlation id for the trail. */
  cid?: string;
}

export interface NoticedResult {
  nowMs: number;
  generation: number;
  noticeSeenMs: number;
  wakeSeenMs: number | undefined;
  /** When this hang was first surfaced: its age. */
  firstSeenMs: number;
  /** True once per hang: the caller counts it and plans limbo. */
  isNew: boolean;
  /** This hang was already nudged and the nudge settled: nothing is to be planned for it. */
  nudged: boolean;
}

export interface ClearedNotice {
  generation: number;
  answeredTaskIds: readonly string[];
  /** True where a real reply was read; false where the notice went away otherwise (revert, user stop). */
  replied: boolean;
  /** A nudge stands in the transcript since the last human prompt: proof that a call of unknown outcome arrived. */
  nudgeSeen: boolean;
  /** The detector's reason code, for the trail. */
  verdict?: string;
}

export interface NudgeClaim {
  sessionId: string;
  kind: 'auto' | 'manual';
  noticeId: string;
  generation: number;
  owner: string;
  leaseMs: number;
  /** Fallback counter, and the human prompt known now (SPEC §4, human reset). */
  nudgesInTranscript: number;
  humanPromptId: string | undefined;
  /** A human prompt that no other turn start covers stands after the last nudge. */
  humanSinceNudge: boolean;
  limits: { maxNudgesPerHour: number; maxConcurrent: number; slotMs: number };
  /** Correlation id for the trail. */
  cid?: string;
}

export type ClaimResult =
  /** `resumed`: the attempt existed; `phase` says how far it had come, `unknownBefore` whether a call may have left. */
  | {
      ok: true;
      attemptId: string;
      try: number;
      maxRetries: number;
      phase: 'claimed' | 'sending';
      resumed: boolean;
      unknownBefore: boolean;
    }
  | { ok: false; reason: DecisionReason; retryAtMs: number | undefined; attemptId: string | undefined };

export interface AttemptRef {
  sessionId: string;
  attemptId: string;
  owner: string;
}

export type SendingResult = { ok: true } | { ok: false; reason: DecisionReason };

export interface Settlement {
  outcome: AttemptOutcome;
  detail: string | undefined;
  turnId?: string | undefined;
  /** Correlation id for the trail. */
  cid?: string | undefined;
}
export interface SettleResult {
  /** False: it was settled before; `outcome` is the one that stands. */
  applied: boolean;
  outcome: AttemptOutcome;
  pausedItself: boolean;
  /** Redis time of this call. */
  nowMs: number;
}

export interface ShownState {
  generation: number;
  state: Extract<SessionState, 'stuck' | 'stood-down' | 'exhausted' | 'error' | 'failed' | 'transcript-missing'>;
  reason: DecisionReason;
  kind: TrailKind;
  detail?: Record<string, unknown>;
}

export interface SessionQuery {
  server?: string;
  project?: string;
  state?: SessionState;
  limit: number;
  cursor?: string;
}

/** A session whose turn began and that nobody watches. */
export interface UnwatchedSession {
  sessionId: string;
  server: string;
  project: string;
  /** `undefined`: no turn end has named it. */
  path: string | undefined;
  generation: number;
  /** How long ago it was last changed. */
  silentMs: number;
}

/** An armed session as the sweep sees it. */
export interface DueSession {
  sessionId: string;
  server: string;
  project: string;
  path: string;
  generation: number;
  armedMs: number;
  /** A notice stands: the sweep plans its evaluation again, in case its job was lost. */
  noticeId: string | undefined;
  noticeSeenMs: number | undefined;
  state: SessionState;
}
