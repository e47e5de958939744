import { basename } from 'node:path';
import { SESSION_ID_PATTERN } from '#shared/transcript/locate.js';
import type { Clocks, Finding, Judgement, ReadOutcome } from '#shared/transcript/finding.js';
import { sessionIdOf } from '#shared/transcript/session-of.js';
import { judge } from '#shared/transcript/signature.js';
import { localFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';

/** Values that the services take from their settings; a look by hand has their defaults. */
export const DEFAULT_DEBOUNCE_MS = 5_000;
export const DEFAULT_WAKE_GRACE_MS = 30_000;

export interface InspectOptions {
  sessionId: string | undefined;
  nowMs: number;
  debounceMs: number;
  /** When the notice, and its delivery, were first seen; `undefined`: the entries' own times, never later than now. */
  firstSeenMs: number | undefined;
  deliveredSeenMs: number | undefined;
  /** How much is told besides the verdict; see `ReadContext`. */
  history: 'whole' | 'wide';
}

export type Inspection =
  | {
      kind: 'judged';
      sessionId: string;
      judgement: Judgement;
      finding: Finding;
      bytesRead: number;
      skippedLines: number;
      mtimeMs: number;
    }
  | { kind: 'unreadable'; why: string };

/** Reads one transcript and judges it as it stands: no Redis, no network, nothing written. */
export const inspect = async (file: string, options: InspectOptions): Promise<Inspection> => {
  const sessionId = options.sessionId ?? (await defaultSession(file));
  const outcome = await readFinding(localFiles, file, {
    sessionId: sessionId ?? '',
    answeredTaskIds: new Set(),
    senderLabels: [],
    // A person asked for this one file: it is read however long it is.
    scanLimitBytes: Number.POSITIVE_INFINITY,
    history: options.history,
  });
  if (outcome.kind !== 'read') return { kind: 'unreadable', why: whyUnreadable(outcome) };
  const { finding, bytesRead, skippedLines } = outcome;
  const judgement = judge(finding, clocksFor(finding, outcome.file.mtimeMs, options));
  const { mtimeMs } = outcome.file;
  return { kind: 'judged', sessionId: sessionId ?? '', judgement, finding, bytesRead, skippedLines, mtimeMs };
};

/** A chat's file is named by its session; another file tells whose it is by its lines. */
const defaultSession = async (file: string): Promise<string | undefined> => {
  const name = basename(file, '.jsonl');
  return SESSION_ID_PATTERN.test(name) ? name.toLowerCase() : sessionIdOf(localFiles, file);
};

const clocksFor = (finding: Finding, mtimeMs: number, options: InspectOptions): Clocks => {
  const { nowMs, debounceMs, firstSeenMs, deliveredSeenMs } = options;
  const seenAt = (stampMs: number | undefined): number => Math.min(stampMs ?? mtimeMs, nowMs);
  const pending = finding.kind === 'pending' ? finding : undefined;
  return {
    nowMs,
    debounceMs,
    wakeGraceMs: DEFAULT_WAKE_GRACE_MS,
    noticeSeenMs: firstSeenMs ?? seenAt(pending?.noticeStampMs),
    wakeSeenMs: deliveredSeenMs ?? seenAt(pending?.wakeStampMs),
  };
};

const WHY: Readonly<Record<string, string>> = {
  EISDIR: 'it is a directory',
  EACCES: 'no permission',
  EPERM: 'no permission',
  ENOTFILE: 'it is no regular file',
  ECHANGING: 'it keeps being rewritten',
};

const whyUnreadable = (outcome: Exclude<ReadOutcome, { kind: 'read' }>): string => {
  if (outcome.kind === 'missing') return 'there is no such file';
  return outcome.kind === 'undetermined' ? 'it is too long' : (WHY[outcome.code] ?? outcome.code);
};
