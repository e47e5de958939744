import type { Entry, EntryOf } from './entry.ts';
import type { ErrorClass, ReasonCode } from './finding.ts';
import type { Notification } from './notification.ts';

/** A terminated task that was reported and is not answered, with everything that decides about it. */
export interface PendingTask {
  id: string;
  status: string;
  summary: string;
  toolUseId: string | undefined;
  /** The entry that reported it first, and the one that did so last. */
  first: Entry;
  newest: Entry;
  /** The chat has it before it: as a prompt, or folded into a turn. */
  delivered: boolean;
  /** A prompt came after it, so the next reply knows it. */
  promptSince: boolean;
  /** Who ended it on purpose. */
  stoppedBy: 'user' | 'nudged-user' | undefined;
}

/** Why somebody or something is about to move the chat. */
export interface Open {
  reason: Extract<ReasonCode, 'open-turn' | 'human-prompt-pending' | 'nudge-pending' | 'compacting'>;
  entry: Entry;
}

/** A wake that may be under way: what began it, and the API retries since. */
export interface Wake {
  entry: Entry;
  retry: Entry | undefined;
}

/** What replaying the entries in file order comes to. */
export interface ChatState {
  pending: Map<string, PendingTask>;
  /** Notifications of other statuses that nothing answered, by task. */
  otherPending: Map<string, { notification: Notification; entry: Entry; delivered: boolean; promptSince: boolean }>;
  /** Tasks that were reported and answered, whatever their status. */
  answered: Set<string>;
  /** Of these, the terminated ones. */
  answeredTerminated: Set<string>;
  /** Terminated tasks that were answered before and were reported again. */
  repeated: Map<string, Entry>;
  modelStopped: Map<string, Entry>;
  open: Open | undefined;
  wake: Wake | undefined;
  error: { entry: Entry; class: ErrorClass } | undefined;
  placeholder: Entry | undefined;
  interruption: { entry: Entry; nudge: boolean } | undefined;
  reply: Entry | undefined;
  lastAnswered: PendingTask | undefined;
  /** Text in the queue, and what was dequeued of it since the last prompt. */
  queue: EntryOf<'queued'>[];
  dequeued: EntryOf<'queued'>[];
  /** Keys of the notices that are queued and that no dequeue has taken yet. */
  queuedNotices: string[];
  /** All notices that were queued, by key: a delivered copy of one is no newer notice. */
  enqueuedKeys: Map<string, EntryOf<'notification'>>;
  newestNotice: { entry: EntryOf<'notification'>; key: string } | undefined;
  /** Where the newest turn was started: by a prompt, or by a wake. */
  turnStart: number;
  lastPrompt: EntryOf<'prompt'> | undefined;
  lastHuman: EntryOf<'prompt'> | undefined;
  nudgesSinceHuman: number;
  /** Background calls and launch records whose end nothing tells, by tool call or task id. */
  launched: Map<string, { entry: Entry; taskId: string | undefined; started: boolean }>;
  /** Every launch that was seen, ended or not, by tool call and by task. */
  launches: Map<string, Entry>;
  nudgeTurn: { results: number; failed: number } | undefined;
}

export const freshState = (answeredBefore: Iterable<string>): ChatState => ({
  pending: new Map(),
  otherPending: new Map(),
  answered: new Set(answeredBefore),
  answeredTerminated: new Set(),
  repeated: new Map(),
  modelStopped: new Map(),
  open: undefined,
  wake: undefined,
  error: undefined,
  placeholder: undefined,
  interruption: undefined,
  reply: undefined,
  lastAnswered: undefined,
  queue: [],
  dequeued: [],
  queuedNotices: [],
  enqueuedKeys: new Map(),
  newestNotice: undefined,
  turnStart: -1,
  lastPrompt: undefined,
  lastHuman: undefined,
  nudgesSinceHuman: 0,
  launched: new Map(),
  launches: new Map(),
  nudgeTurn: undefined,
});

/** Identity of a task in a notification; one without an id is known by its call, else by its payload. */
export const taskIdOf = (block: Notification, payloadKey: string): string =>
  block.taskId ?? block.toolUseId ?? `payload-${payloadKey}`;
