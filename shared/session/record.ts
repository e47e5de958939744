import type { LifecycleEvent } from './events.ts';
import type { TaskNotice } from '#shared/transcript/finding.js';
import type { DeliveryReason, StateReason } from '#shared/trail/reasons.js';

/** Version of the record that this code writes; a record with a newer one is left alone (deferred). */
export const RECORD_VERSION = 1;

/**
 * State of a session as people see it.
 *
 * watching → killed → nudging → nudged → recovered, with the side roads named below.
 */
export const SESSION_STATES = [
  'idle', // known, nothing armed (batch mode, layers off, watch ended by an operator or by age)
  'watching', // armed after a turn end; no notice
  'killed', // a killed-task notice stands un-answered
  'nudging', // an attempt is claimed or its call is under way
  'nudged', // the session API accepted a nudge; no reply yet
  'recovered', // a reply followed the nudge
  'unconfirmed', // accepted or unknown outcome, and no entry followed
  'exhausted', // hung again with the cap reached
  'stuck', // silent past limboTimeoutMs
  'stood-down', // busy past the deferral bound; the watch goes on
  'failed', // the session API refuses for good, or the agent crashed
  'error', // the chat ended in an API error after the kill
  'transcript-missing', // the file is nowhere under the roots
  'closed', // deleted, reverted, promoted, ended
] as const;
export type SessionState = (typeof SESSION_STATES)[number];

/** A killed-task notice that stands in the record. */
export interface Notice {
  /** {@link Finding} `noticeId`: the same hang, the same id. */
  id: string;
  /** {@link Finding} `noticeKey` and when it was first seen (Redis time): the debounce's start. */
  key: string;
  seenMs: number;
  /** Wake identity and when it was first seen, where a wake may have been under way. */
  wakeKey: string | undefined;
  wakeSeenMs: number | undefined;
  /** When this hang (`id`) was first surfaced; its age counts from here. */
  firstSeenMs: number;
  tasks: TaskNotice[];
  /** The debounce was already started anew once because the host slept. */
  restarted: boolean;
}

/** Phase of an attempt: `claimed` (counter raised, nothing sent), `sending` (the call may have left), `settled`. */
export type AttemptPhase = 'claimed' | 'sending' | 'settled';

/** What became of a call, as recorded. */
export const ATTEMPT_OUTCOMES = [
  'accepted', // 202
  'refused', // definite refusal: the retry was given back
  'unknown', // may or may not have arrived; not repeated (driver without idempotency)
  'void', // superseded before anything was sent: the retry was given back
  'gone', // 404/410: the watch was closed
  'failed', // 400/401/403: shown, tried again only at backstop steps
] as const;
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number];

export interface Attempt {
  /** Derived from server, session, notice, try and refusals (SPEC §4.5); also the idempotency key. */
  id: string;
  kind: 'auto' | 'manual';
  noticeId: string;
  generation: number;
  /** Which automatic try this is, from 1. */
  try: number;
  phase: AttemptPhase;
  outcome: AttemptOutcome | undefined;
  /** HTTP status or failure class behind the outcome. */
  detail: string | undefined;
  /** Worker that holds the lease, and until when (Redis time). */
  owner: string | undefined;
  leaseUntilMs: number;
  /** A call of this attempt has ended with an unknown outcome: a later definite refusal gives nothing back. */
  unknownBefore: boolean;
  claimedMs: number;
  sentMs: number | undefined;
  settledMs: number | undefined;
  /** Turn that the session API named in its 202. */
  turnId: string | undefined;
  /** Correlation id of the job that claimed it: what is told of the attempt later is told under it. */
  cid: string | undefined;
}

/** One session's record. Times are Redis time unless named `…EventMs` (the chat server's clock). */
export interface SessionRecord {
  version: number;
  sessionId: string;
  server: string;
  /** How the session came to us; a higher rank takes ownership from a lower one. */
  source: 'discovery' | 'hook' | 'webhook';
  project: string;
  /** Transcript path as we open it; `undefined` until a turn end named it. */
  path: string | undefined;
  generation: number;
  state: SessionState;
  stateReason: StateReason | undefined;
  /** Whether the watch is armed, and whether Layer 3 may act on what it sees. */
  armed: boolean;
  auto: boolean;
  autoReason: DeliveryReason | undefined;
  armedMs: number | undefined;
  updatedMs: number;
  lastEventMs: number;
  /** Type of the newest ordered event. */
  lastEventType: LifecycleEvent['type'] | undefined;
  /** The watch was ended by an operator, by age or by a close: nobody is to take it up by himself. */
  released: boolean;
  /** Event time of the newest turn end and whether a turn is known to be running. */
  turnEndedEventMs: number | undefined;
  running: boolean;
  /** The last few starts of turns that no person caused, oldest first: each covers the prompt that it wrote. */
  otherStartsEventMs: number[];
  notice: Notice | undefined;
  /** Automatic nudges since the last human message; `undefined`: the record began without history. */
  tries: number | undefined;
  refusals: number;
  /** Manual nudges so far; part of a manual attempt's id. */
  manuals: number;
  /** Human prompt known when the last nudge was claimed: another one later is a human reset. */
  humanAtNudge: string | undefined;
  userStopped: boolean;
  stoppedTaskIds: string[];
  answeredTaskIds: string[];
  attempt: Attempt | undefined;
  backgroundTasks: number;
}
