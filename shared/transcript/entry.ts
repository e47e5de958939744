import type { ErrorClass } from './finding.ts';
import type { Notification } from './notification.ts';

/** What every entry knows of its line. */
export interface EntryBase {
  /** Byte offset of the line (or of the object in it, where two were glued together). */
  offset: number;
  /** ISO stamp as written. File order decides, never this. */
  stamp: string | undefined;
  uuid: string | undefined;
  /** `type`, with operation or sub-type: `queue-operation/enqueue`, `attachment/queued_command`. */
  type: string;
}

/** Who wrote a prompt: a person (or a host in a person's name), this project, or another machine. */
export type PromptAuthor = 'human' | 'nudge' | 'machine';

/** A tool call in a reply, as far as it matters. */
export interface ToolCall {
  id: string;
  /** The call asked for background work. */
  background: boolean;
  /** Task that the call stops (`TaskStop`), as far as it names one. */
  stops: string | undefined;
}

/** The record that a background task was started: which call, which task. */
export interface Launch {
  toolUseId: string | undefined;
  taskId: string;
  /** Told only by the result's words: believed where the call itself asked for background work. */
  byWords: boolean;
}

/**
 * A main-chain line of the chat that can matter to a verdict. Everything else in a transcript (bookkeeping, reminders,
 * sub-agents, other sessions, unknown types) is inert and never becomes an entry.
 */
export type Entry = EntryBase &
  (
    | {
        kind: 'notification';
        /** Where it stands: still in the queue, as a prompt of its own, or folded into a running turn. */
        via: 'enqueue' | 'user' | 'attachment';
        blocks: Notification[];
        key: string;
        /** The runtime only noted it: no turn was started by it. */
        noTurn: boolean;
      }
    /** Text in the queue that is no notification. `launch`: the task start that 2.1.50 notes as a queue entry. */
    | { kind: 'queued'; what: 'human' | 'nudge' | 'launch'; key: string; launch: Launch | undefined }
    | { kind: 'dequeue' }
    | { kind: 'remove'; key: string | undefined; all: boolean }
    | { kind: 'prompt'; by: PromptAuthor; certain: boolean; key: string | undefined }
    /** A slash command of a person. It is no prompt, but a reply that follows it was started by it. */
    | { kind: 'command' }
    | { kind: 'tool-result'; toolUseIds: string[]; failed: boolean; launches: Launch[] }
    /** A real reply. `open`: its turn goes on (a tool call follows or stands in it). */
    | { kind: 'reply'; open: boolean; calls: ToolCall[] }
    | { kind: 'thinking' }
    | { kind: 'placeholder' }
    | { kind: 'api-error'; class: ErrorClass }
    /** `system/api_error`: the runtime tries the request again. */
    | { kind: 'retry' }
    | { kind: 'interruption' }
    /** An automatic compaction: it runs inside a turn. */
    | { kind: 'compaction' }
    /** A person's queued text folded into the running turn. */
    | { kind: 'midturn-text'; key: string | undefined }
  );

export type EntryOf<K extends Entry['kind']> = Extract<Entry, { kind: K }>;
