import type { CAUSES } from '../../shared/session/events.ts';

export type Cause = (typeof CAUSES)[number];
export type Outcome = 'completed' | 'interrupted' | 'failed';

/** A background task that is running now. */
export interface RuntimeTask {
  id: string;
  type: string;
  description: string;
}

/** A turn that the chat server asks for. */
export interface TurnRequest {
  turnId: string;
  text: string;
  cause: Cause;
}

/** What a runtime tells the chat server. Every turn that starts ends exactly once. */
export interface RuntimeListener {
  /** A turn that the runtime began by itself: a finished task woke the chat. */
  woken(turnId: string): void;
  turnEnded(turn: { turnId: string; outcome: Outcome; waiting: boolean }): void;
  /** A running turn waits for its user's answer, or no longer does. */
  asking(on: boolean): void;
  tasksChanged(tasks: RuntimeTask[]): void;
  /** Something that a person who watches would like to see; never needed for correctness. */
  noted(what: 'reply' | 'task.killed' | 'task.completed', fields: Record<string, unknown>): void;
  /** The process behind the session is gone without having been closed. */
  crashed(error: Error): void;
}

/** One session that is held open. */
export interface LiveSession {
  /** Begins a turn, or queues it behind the one that is running. Resolves once the runtime has it. */
  begin(turn: TurnRequest): Promise<void>;
  /** The user's answer to what the running turn asks. */
  answer(text: string): Promise<void>;
  /** Ends the running turn as its user would; without one it does nothing. */
  interrupt(): Promise<void>;
  /** Kills a background task: as its user, or as the runtime does by itself. `false`: no such task is running. */
  killTask(taskId: string, by: 'runtime' | 'user'): Promise<boolean>;
  /** Lets the session go. Its tasks end, its transcript stays. */
  close(): Promise<void>;
}

export interface SessionPlace {
  sessionId: string;
  /** Working directory; exists. */
  cwd: string;
  /** Where the transcript is, or will be once the first turn has begun. */
  transcriptPath: string;
  /** The session has had a turn before, perhaps in an earlier process. */
  resumed: boolean;
  /** For the scripted runtime: what is to happen, and how fast. */
  script: string | undefined;
  timings: Record<string, number>;
}

/** A way of running Claude Code sessions: `scripted` writes what real ones write, `claude` runs them. */
export interface ChatRuntime {
  open(place: SessionPlace, listener: RuntimeListener): Promise<LiveSession>;
}
