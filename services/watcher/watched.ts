import type { ChatServer } from '#shared/settings/environment.js';
import type { FileMark } from '#shared/transcript/finding.js';

/** Why a transcript is looked at; part of the trail's words and of what a missing file means. */
export type LookWhy = 'armed' | 'event' | 'gone' | 'sweep' | 'start';

/** A killed-task notice that stands, as far as this process knows. Times are Redis time. */
export interface Standing {
  noticeId: string;
  /** What was read when it was recorded: another notice or wake of the same hang has other keys. `undefined`: taken from the record. */
  keys: string | undefined;
  noticeSeenMs: number;
  wakeSeenMs: number | undefined;
  firstSeenMs: number;
  /** Its evaluation is on the queue (or none is due): a further look at the same shape needs no Redis. */
  planned: boolean;
}

/**
 * One armed session in this process's memory. It holds what stands, so that a change that means nothing costs no Redis call;
 * everything in it can be had again from Redis and the file.
 */
export interface WatchedSession {
  readonly sessionId: string;
  server: ChatServer;
  project: string;
  /** Confined path as this process opens it. */
  path: string;
  generation: number;
  /** Layer 3 may act, as far as the turn itself is concerned (`arming.ts`). */
  auto: boolean;
  /** Correlation id of the delivery or the sweep that brought it. */
  cid: string;
  standing: Standing | undefined;
  /** The file when it was last judged. */
  mark: FileMark | undefined;
  /** It was not hung then and showed no notice that is un-answered; it may have been busy. */
  clean: boolean;
  /** The file when it was last glanced at and nothing of what had been appended since `mark` mattered. */
  glanced: FileMark | undefined;
  /** Task ids answered before, from the record; `undefined`: not asked for yet. */
  answered: Set<string> | undefined;
  /** The end that was shown last (`transcript-missing`, a notice's error), so that it is shown once. */
  shown: string | undefined;
  /** Observations that were counted, each under its generation. */
  readonly observed: Set<string>;
  /** The watch is over; whoever still holds the object does nothing more. */
  ended: boolean;
}

/** What is known of a watch when it begins. */
export type NewWatch = Pick<
  WatchedSession,
  'sessionId' | 'server' | 'project' | 'path' | 'generation' | 'auto' | 'cid'
>;

/** A new entry for a watch that has just begun. */
export function watchedSession(fields: NewWatch): WatchedSession {
  return {
    ...fields,
    standing: undefined,
    mark: undefined,
    clean: false,
    glanced: undefined,
    answered: undefined,
    shown: undefined,
    observed: new Set(),
    ended: false,
  };
}

/** Whether the file is another one than `mark`, or longer, shorter or rewritten since. */
export function changedSince(mark: FileMark | undefined, now: FileMark): boolean {
  return mark === undefined || mark.ino !== now.ino || mark.size !== now.size || mark.mtimeMs !== now.mtimeMs;
}

/** Nothing stands and nothing is shown: until a notification is appended, nothing in the file can matter. */
export function isQuiet({ clean, standing, shown }: WatchedSession): boolean {
  return clean && standing === undefined && shown === undefined;
}
