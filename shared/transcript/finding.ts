/**
 * What reading a transcript can say, and what a clock then makes of it.
 *
 * The work is split in two so that reading needs no Redis and judging needs no file:
 * 1. `readFinding` (tail.ts) reads backwards until the shape of the chat is known: a {@link Finding}, free of clocks.
 * 2. `judge` (signature.ts) adds the clocks (when we first saw this) and gives a {@link Judgement}.
 */

/** The four verdicts of the detector. */
export const VERDICTS = ['hung', 'not-hung', 'busy-or-waiting', 'error-entry'] as const;
export type VerdictKind = (typeof VERDICTS)[number];

/** A background task that a notification says was ended and that nothing has answered. */
export interface TaskNotice {
  /** The runtime's task id. */
  id: string;
  /** Status as written, trimmed and in lower case: `killed` or `stopped`. */
  status: string;
  /** The runtime's canned sentence about it. Outside text: data, never to be trusted or pasted raw. */
  summary: string;
  /** Tool call that launched the task, where the notification names it. */
  toolUseId: string | undefined;
  /** ISO stamp of the entry that reported it first, as written; `''` where there is none. */
  stamp: string;
}

/** One entry that decided the verdict. */
export interface Evidence {
  /** Byte offset of the line's first byte; a reader that counted from the start may add the line number. */
  offset: number;
  /** 1-based line number where the whole file was counted, else `undefined`. */
  line: number | undefined;
  /** The entry's type, with its operation or sub-type: `queue-operation/enqueue`, `user`, `assistant`. */
  type: string;
  timestamp: string | undefined;
  /** A few words on what the entry is to the verdict ("killed notice of task b1"). */
  note: string;
}

/** The newest prompt that a person may have written. */
export interface HumanPrompt {
  /** The entry's uuid, or its offset as text where it has none. */
  id: string;
  timestamp: string | undefined;
  /** True where the entry itself says so (`origin.kind` human, `promptSource` typed); false: it may also be the host's. */
  certain: boolean;
}

/** Facts that hold whatever the verdict. */
export interface FindingFacts {
  evidence: Evidence[];
  /** Task ids of terminated notifications that were seen answered while reading. */
  answeredTaskIds: string[];
  /** Nudges found since the newest human prompt, as far as was read. */
  nudgesSinceHuman: number;
  /** Newest human prompt found, as far as was read. */
  lastHuman: HumanPrompt | undefined;
  /** Other ways in which a chat can be dead that a transcript shows; they never make a nudge by themselves. */
  observations: Observation[];
  /** Whether the newest human prompt or the file's start was reached: only then is `nudgesSinceHuman` the whole count. */
  historyComplete?: boolean;
}

/** Dead in a way that is not the hung signature; counted and shown, nothing more. */
export const OBSERVATIONS = [
  'completed-unanswered',
  'background-without-terminal-record',
  'other-terminal-status',
  'nudge-without-effect',
] as const;
export type Observation = (typeof OBSERVATIONS)[number];

/** Classes of a synthetic API error entry. */
export const ERROR_CLASSES = ['usage-limit', 'login', 'overload', 'other'] as const;
export type ErrorClass = (typeof ERROR_CLASSES)[number];

/**
 * The clock-free result of reading.
 *
 * `settled`: no clock is needed, the verdict stands. `pending`: the hung signature is there; how long it has stood decides.
 */
export type Finding =
  | (FindingFacts & {
      kind: 'settled';
      verdict: Exclude<VerdictKind, 'hung'>;
      reason: ReasonCode;
      /** Terminated and un-answered tasks, where there are some behind a busy or an error verdict. */
      tasks: TaskNotice[];
      /** As in `pending`; `undefined` where no terminated notification stands un-answered. */
      noticeId: string | undefined;
      errorClass: ErrorClass | undefined;
    })
  | (FindingFacts & {
      kind: 'pending';
      /** Reason that the verdict carries once it is `hung`. */
      reason: HungReason;
      tasks: TaskNotice[];
      /**
       * Hash of the un-answered terminated tasks (ids and first stamps). The same hang has the same id however often the
       * runtime repeats its notice; part of the idempotency key.
       */
      noticeId: string;
      /** Identity of the newest notification, completed ones too: the debounce counts from when this was first seen. */
      noticeKey: string;
      /** Identity of a wake that may be under way (delivered or dequeued, no reply; changes with each API error entry). */
      wakeKey: string | undefined;
      /** Stamps of what the two keys stand for, for a reader without a memory (`explain`). */
      noticeStampMs: number | undefined;
      wakeStampMs: number | undefined;
    });

/** Codes with which a `hung` verdict is given. */
export const HUNG_REASONS = ['killed-unanswered', 'wake-lost', 'resume-placeholder-only'] as const;
export type HungReason = (typeof HUNG_REASONS)[number];

/**
 * Every reason code of the detector, one line each; `docs/verdicts.md` is held to this list by a test.
 */
export const REASONS = {
  // hung
  'killed-unanswered': 'A terminated task notification stands at the logical end and nothing has answered it.',
  'wake-lost': 'The notification was delivered or dequeued, and no reply came within the grace.',
  'resume-placeholder-only': 'Only the synthetic placeholder that a resume writes follows the notification.',
  // busy-or-waiting
  debounce: 'The newest notification has not yet stood un-answered for the debounce.',
  'wake-grace': 'The notification was delivered or dequeued moments ago: a wake may be under way.',
  'open-turn':
    'A turn is open: a tool call without result, a tool result last, a thinking-only block or a mid-turn entry.',
  'human-prompt-pending': 'A person’s prompt has no reply yet, or human text is still in the queue.',
  'nudge-pending': 'Our own nudge has no reply yet.',
  compacting: 'An automatic compaction has just run: a turn is open.',
  // not-hung
  'no-notification': 'No terminated task notification was found.',
  answered: 'Every terminated notification is followed by a real reply.',
  'user-interrupted': 'The user interrupted the chat before the kill, or after a prompt that has no reply.',
  'model-stopped-task': 'The chat itself called TaskStop for the task.',
  'nudge-interrupted': 'Our nudge was followed by an interruption marker: stand down.',
  'already-answered': 'Only tasks that were answered before are reported again.',
  // error-entry
  'api-error-limit': 'Only a synthetic usage-limit error follows the notification.',
  'api-error-login': 'Only a synthetic authentication error follows the notification.',
  'api-error-overload': 'Only a synthetic overload error follows the notification.',
  'api-error-other': 'Only another synthetic API error follows the notification.',
} as const satisfies Record<string, string>;
export type ReasonCode = keyof typeof REASONS;

/** When we first saw things, on our own clock (Redis time in the services). Never a transcript's stamp there. */
export interface Clocks {
  nowMs: number;
  /** When the notification with `noticeKey` was first seen; `undefined`: just now. */
  noticeSeenMs: number | undefined;
  /** When the wake with `wakeKey` was first seen; `undefined`: just now. */
  wakeSeenMs: number | undefined;
  debounceMs: number;
  wakeGraceMs: number;
}

/** A verdict with its reason, and when to look again where it waits on a clock. */
export interface Judgement {
  verdict: VerdictKind;
  reason: ReasonCode;
  tasks: TaskNotice[];
  noticeId: string | undefined;
  errorClass: ErrorClass | undefined;
  evidence: Evidence[];
  observations: Observation[];
  /** Set only where the verdict will change by time alone. */
  recheckAtMs: number | undefined;
}

/** What a read came to. The three last are ends of their own: none of them ever leads to a nudge. */
export type ReadOutcome =
  | { kind: 'read'; finding: Finding; file: FileMark; bytesRead: number; skippedLines: number }
  | { kind: 'missing' }
  | { kind: 'undetermined'; why: 'scan-limit'; bytesRead: number; skippedLines: number; file: FileMark }
  | { kind: 'unreadable'; code: string };

/** Enough to tell whether a file is the same and unchanged. */
export interface FileMark {
  size: number;
  mtimeMs: number;
  ino: number;
}

/** What a read must know of the session. */
export interface ReadContext {
  sessionId: string;
  /** Ids that were answered before (session record): once answered, always answered. */
  answeredTaskIds: ReadonlySet<string>;
  /** Labels by which a nudge is known, without brackets; the known ones of SPEC §5 are always included. */
  senderLabels: readonly string[];
  scanLimitBytes: number;
  /**
   * How far facts that decide nothing are looked for. `near` (default): up to 32 KB before the deciding entry, and not behind
   * the newest answered human prompt. `whole`: to the newest human prompt, for a caller whose own record has no history.
   * `wide`: that, and 1 MB before the deciding entry, for a person who asks about one chat.
   */
  history?: 'near' | 'whole' | 'wide';
}

/**
 * Where transcript bytes come from: a local file today, a ranged HTTP read later.
 *
 * `open` returns a fixed view of the content (its size at that moment) or says why there is none; it never creates a file.
 * `readAt` returns up to `length` bytes at `offset`, fewer only at the end; throws `ENOENT`-like errors as they come.
 */
export interface TranscriptSource {
  open(path: string): Promise<TranscriptView | { missing: true } | { unreadable: string }>;
}
export interface TranscriptView {
  mark: FileMark;
  /** The bytes are the view's: not to be kept after `close`. */
  readAt(offset: number, length: number): Promise<Buffer>;
  /** Whether the content is still at least as long as `mark` says; a source that cannot tell leaves it out. */
  isIntact?(): Promise<boolean>;
  close(): Promise<void>;
}
