import { isUtf8 } from 'node:buffer';
import { assistantEntry } from './entry-assistant.ts';
import { attachmentEntry, queueEntry, systemEntry } from './entry-queue.ts';
import { userEntry } from './entry-user.ts';
import type { Entry, EntryBase } from './entry.ts';
import { headOf, mayHoldAnother, trimmed } from './head.ts';
import { type JsonObject, isObject, textAt } from './json.ts';

/** What a reader must know to tell the chat's own entries from everything else. */
export interface LineContext {
  sessionId: string;
  senderLabels: readonly string[];
}

/** The entries of one line in file order (more than one only where records were glued), and whether it was sound. */
export interface ParsedLine {
  entries: readonly Entry[];
  /** Torn, glued, NUL-filled, wrongly encoded, blank or no object, as a whole or in part. */
  skipped: boolean;
}

const INERT: ParsedLine = { entries: [], skipped: false };
const BAD: ParsedLine = { entries: [], skipped: true };

/** Reads one line's bytes (without its line end). Never throws on any bytes. */
export const parseLine = (bytes: Buffer, offset: number, context: LineContext): ParsedLine => {
  const line = trimmed(bytes);
  if (line.length === 0) return BAD;
  const head = headOf(line);
  const sound = head.kind !== 'malformed';
  if (head.kind === 'inert' && !mayHoldAnother(line, head.end)) return INERT;
  if (!sound && !mayHoldAnother(line, 0)) return BAD;
  const at = offset + (line.byteOffset - bytes.byteOffset);
  const text = line.toString('utf8');
  const whole = parseJson(text);
  if (whole === undefined || !isObject(whole)) return recovered(line, at, context);
  const entry = head.kind === 'inert' ? undefined : entryOf(whole, at, context);
  const skipped = !isUtf8(line);
  return entry === undefined ? (skipped ? BAD : INERT) : { entries: [entry], skipped };
};

/**
 * The entry that a parsed record is; `undefined` where it is inert: another type, a sub-agent's, another session's, or
 * copied from a parent by a fork.
 */
export const entryOf = (record: JsonObject, offset: number, context: LineContext): Entry | undefined => {
  if (record['isSidechain'] === true || record['forkedFrom'] !== undefined) return undefined;
  const session = record['sessionId'];
  if (session !== undefined && (typeof session !== 'string' || !sameId(session, context.sessionId))) return undefined;
  const base = (type: string): EntryBase => ({
    offset,
    stamp: textAt(record, 'timestamp'),
    uuid: textAt(record, 'uuid'),
    type,
  });
  switch (record['type']) {
    case 'user':
      return userEntry(record, base('user'), context.senderLabels);
    case 'assistant':
      return assistantEntry(record, base('assistant'));
    case 'queue-operation':
      return queueEntry(record, base(`queue-operation/${textAt(record, 'operation') ?? ''}`), context.senderLabels);
    case 'attachment':
      return attachmentEntry(record, base('attachment/queued_command'));
    case 'system':
      return systemEntry(record, base(`system/${textAt(record, 'subtype') ?? ''}`));
    default:
      return undefined;
  }
};

const sameId = (a: string, b: string): boolean => a === b || a.toLowerCase() === b.toLowerCase();

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

/** Where a glued record is looked for: near the line's end, at so many places at most. The line's own beginning always counts. */
const GLUED_TEXT = 64 * 1_024;
const MAX_TRIES = 64;
const RECORD_START = /\{\s*"/g;
const TRAILING_NULS = /[\s\0]+$/;
const AFTER_RECORD = /\}[\s\0]*$/;

/**
 * What is whole in a line that does not parse: a killed writer leaves half a record, and the next append is glued to it.
 * A record counts only if it names its session: an object from inside the torn one does not.
 */
const recovered = (line: Buffer, offset: number, context: LineContext): ParsedLine => {
  const text = line.toString('utf8');
  const from = Math.max(1, text.length - GLUED_TEXT);
  const glued = [...text.slice(from).matchAll(RECORD_START)].map((match) => from + match.index);
  const starts = [0, ...glued.slice(-MAX_TRIES)];
  const entries: Entry[] = [];
  let end = text.length;
  for (const start of starts.toReversed()) {
    const record = parseJson(text.slice(start, end).replace(TRAILING_NULS, ''));
    const own = isObject(record) && typeof record['sessionId'] === 'string';
    if (own) {
      const entry = entryOf(record, offset + Buffer.byteLength(text.slice(0, start)), context);
      if (entry !== undefined) entries.unshift(entry);
    }
    // Another record ends here: directly behind a closing brace no field can begin.
    if (own || AFTER_RECORD.test(text.slice(Math.max(0, start - 64), start))) end = start;
  }
  return { entries, skipped: true };
};
