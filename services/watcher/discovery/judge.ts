import type { SessionRecord } from '#shared/session/record.js';
import type { Finding } from '#shared/transcript/finding.js';

/** What is to become of a chat that was found by its file and is free. Times are epoch milliseconds. */
export type Found =
  /** Nothing: a turn runs, or what stands there is being dealt with. */
  | { do: 'leave' }
  /** Its last turn is over: watch it from now on. `foundHung`: it hung before anybody watched. */
  | { do: 'watch'; foundHung: boolean; cause: 'human' | 'recovery' };

export interface FoundChat {
  finding: Finding;
  record: SessionRecord | undefined;
  /** Since when new files are seen: the beginning of the last whole round before this one; `undefined` in the first. */
  watchingSinceMs: number | undefined;
}

/**
 * Whether a found chat is watched, and whether recovery may act on what stands there already. Pure.
 *
 * The long dead of an old home are shown and never nudged: only where the notice was written after a whole round had looked
 * at everything (so that it was written while this watched), or where the session was known before, was anybody there.
 */
export function judgeFound({ finding, record, watchingSinceMs }: FoundChat): Found {
  const cause = finding.nudgesSinceHuman > 0 ? 'recovery' : 'human';
  if (finding.kind === 'settled') {
    return finding.verdict === 'busy-or-waiting' ? { do: 'leave' } : { do: 'watch', foundHung: false, cause };
  }
  // What stands is being dealt with: a new generation would void it.
  if (record?.armed === true) return { do: 'leave' };
  return { do: 'watch', foundHung: record === undefined && !wasSeenComing(finding, watchingSinceMs), cause };
}

/**
 * Whether a session may be armed from its file, last written at `writtenMs`: nobody of higher rank tells of it, nobody has ended
 * its watch, and it has been written since it was last armed.
 */
export function isFree(record: SessionRecord, source: SessionRecord['source'], writtenMs: number): boolean {
  if (RANK[record.source] > RANK[source]) return false;
  if (record.turnEndedEventMs !== undefined && writtenMs <= record.turnEndedEventMs) return false;
  if (record.armed) return true;
  // Its age ended the watch, and somebody has gone on with the chat.
  return !record.released || record.stateReason === 'watch-too-old';
}

const RANK = { discovery: 1, hook: 2, webhook: 3 } as const;

function wasSeenComing(
  { noticeStampMs }: Extract<Finding, { kind: 'pending' }>,
  watchingSinceMs: number | undefined,
): boolean {
  return watchingSinceMs !== undefined && noticeStampMs !== undefined && noticeStampMs >= watchingSinceMs;
}
