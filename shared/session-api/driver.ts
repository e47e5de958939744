/**
 * The session API as the services use it: one interface per way of reaching a chat server.
 *
 * Atomic: `send` starts at most one turn per idempotency key where `idempotent` is true. Both calls throw
 * {@link SessionApiFailure} and nothing else.
 */
export interface SessionDriver {
  /** The same key again is answered like the first time and starts no second turn. */
  readonly idempotent: boolean;
  /** False: this driver can only show (driver `none`). */
  readonly canSend: boolean;
  /** State of the session as the chat server sees it. `undefined`: the chat server does not know it (404/410). */
  state(sessionId: string, signal?: AbortSignal, place?: SessionPlace): Promise<SessionStatus | undefined>;
  /** Sends the nudge, only if the session is idle. */
  send(message: NudgeMessage, signal?: AbortSignal): Promise<{ turnId: string | undefined }>;
  /** Cheap reachability check, for start and `/readyz`. */
  probe(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** What our own record knows of a session, for drivers that cannot ask its chat server. */
export interface SessionPlace {
  /** Slug; `''` is the root workspace. */
  project: string;
  /** As this process opens it. */
  transcriptPath: string | undefined;
}

export interface SessionStatus {
  state: 'idle' | 'running' | 'waiting' | 'closed';
  /** Why it counts as running, where that is not a turn: `process_alive`. */
  busyCode?: string;
  queuedFollowUp: boolean;
  project: string | undefined;
  transcriptPath: string | undefined;
}

export interface NudgeMessage {
  sessionId: string;
  text: string;
  label: string;
  idempotencyKey: string;
  place?: SessionPlace;
}

/**
 * How failures are sorted (SPEC §7):
 * - `rate-limited`, `transient`, `network`: repeat with the same key, back-off, no state touched;
 * - `busy`: definite, defer (`code` says why); `gone`: definite, close the watch; `refused`: definite, shown as failed.
 */
export type FailureClass = 'rate-limited' | 'transient' | 'network' | 'busy' | 'gone' | 'refused';

/** A call of the session API that did not succeed. */
export class SessionApiFailure extends Error {
  readonly class: FailureClass;
  /** Stable code: `turn_running`, `queued_follow_up`, `waiting`, `process_alive`, `timeout`, `ECONNREFUSED`, `http_503`, … */
  readonly code: string;
  /** False where the request certainly did not reach the server; true where it may have. */
  readonly mayHaveArrived: boolean;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;

  constructor(fields: {
    class: FailureClass;
    code: string;
    message: string;
    mayHaveArrived: boolean;
    status?: number | undefined;
    retryAfterMs?: number | undefined;
    cause?: unknown;
  }) {
    super(fields.message, { cause: fields.cause });
    this.name = 'SessionApiFailure';
    this.class = fields.class;
    this.code = fields.code;
    this.mayHaveArrived = fields.mayHaveArrived;
    this.status = fields.status;
    this.retryAfterMs = fields.retryAfterMs;
  }
}
