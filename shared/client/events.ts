/**
 * The five lifecycle events of a chat server, as they stand on the wire.
 *
 * Written out by hand so that the published types need nothing else; a test holds them to the schema that the watcher
 * checks deliveries with. What each is for, and when to send it, is told in `docs/webhooks.md`.
 */

/** Why a turn began. */
export type Cause =
  /** A person wrote. */
  | 'human'
  /** A message that came through the session API. */
  | 'recovery'
  /** A finished background task woke the chat. */
  | 'wake'
  /** A message that had waited behind another turn. */
  | 'queue'
  /** A timer of the chat server. */
  | 'schedule';

/** A background task that still ran when its turn ended. */
export interface BackgroundTask {
  id: string;
  type?: string | undefined;
  description?: string | undefined;
}

interface Common {
  /** Claude Code's session id, a UUID. */
  sessionId: string;
  /** Slug of the project; `''` is the root workspace, a real project. */
  project: string;
}

interface TurnEnd extends Common {
  /** `session` keeps the process between turns; `batch` does not, and arms nothing. */
  driveMode: 'session' | 'batch';
  outcome: 'completed' | 'interrupted' | 'failed';
  cause: Cause;
  turnId?: string | undefined;
  backgroundTasks?: BackgroundTask[] | undefined;
}

/** Where the transcript is: its path, or the folder that the session runs in. */
type Place =
  | { transcriptPath: string; cwd?: string | undefined }
  | { cwd: string; transcriptPath?: string | undefined };

/** `data` of each type of event. */
export interface LifecycleData {
  /** A turn began, whoever began it. */
  'turn.started': Common & { cause: Cause; turnId?: string | undefined };
  /** A turn is over: this arms the watch. */
  'turn.ended': TurnEnd & Place;
  /** A person wrote: counters start anew. */
  'message.human': Common & { turnId?: string | undefined };
  /** A person stops a background task. Send it before you stop it. */
  'task.stopped': Common & { taskId: string; by: 'user' };
  /** The session is over for its user. A chat server that shuts down closes nothing. */
  'session.closed': Common & { reason: 'deleted' | 'reverted' | 'promoted' | 'ended' | 'crashed' };
}

export type LifecycleType = keyof LifecycleData;

/** A whole delivery. `timestamp` is ISO 8601, of the chat server's own clock. */
export type LifecycleEvent = {
  [T in LifecycleType]: { type: T; timestamp: string; data: LifecycleData[T] };
}[LifecycleType];
