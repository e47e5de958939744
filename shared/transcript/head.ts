/**
 * The cheap look at a line's bytes before JSON.parse (most lines of a real transcript are bookkeeping, some of 100 KB).
 *
 * It walks the top-level fields only as long as they are plain values, so it is right whatever their order or spacing:
 * where it cannot be sure it says `candidate`, and the line is parsed. It never calls a line inert that could decide.
 */
export interface Head {
  kind: 'inert' | 'candidate' | 'malformed';
  /** How far the line was read; behind it another object may be glued on. */
  end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const OPEN = 0x7b;
const OPEN_LIST = 0x5b;
const CLOSE = 0x7d;

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0a;

/** Where the line's text begins and ends: white space, CR and a byte-order mark around it are none of it. */
export const trimmed = (line: Buffer): Buffer => {
  let start = 0;
  let end = line.length;
  if (line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf) start = 3;
  while (start < end && isSpace(line[start])) start += 1;
  while (end > start && isSpace(line[end - 1])) end -= 1;
  return start === 0 && end === line.length ? line : line.subarray(start, end);
};

/** What a trimmed line is by its first fields. `wanted` types are parsed; `attachment` only with a queued command in it. */
export const headOf = (line: Buffer): Head => {
  if (line[0] !== OPEN) return { kind: 'malformed', end: 0 };
  const found = walk(line, 1, false);
  if (found.kind === 'inert' && line[line.length - 1] !== CLOSE) return { kind: 'malformed', end: found.end };
  return found;
};

const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text));
const TYPE = bytesOf('type');
const SUBTYPE = bytesOf('subtype');
const SIDECHAIN = bytesOf('isSidechain');
const ATTACHMENT = bytesOf('attachment');
const SYSTEM = bytesOf('system');
const QUEUED_COMMAND = bytesOf('queued_command');
const PARSED_TYPES = [bytesOf('user'), bytesOf('assistant'), bytesOf('queue-operation')];
const PARSED_SUBTYPES = [bytesOf('compact_boundary'), bytesOf('api_error')];
const TRUE = 0x74;

const candidate = (end: number): Head => ({ kind: 'candidate', end });
const inert = (end: number): Head => ({ kind: 'inert', end });

/** Whether the bytes from `start` to `end` are `word`. No string is made: this runs for every line. */
const isWord = (line: Buffer, start: number, end: number, word: Uint8Array): boolean => {
  if (end - start !== word.length) return false;
  for (let at = 0; at < word.length; at += 1) if (line[start + at] !== word[at]) return false;
  return true;
};

const isOneOf = (line: Buffer, start: number, end: number, words: readonly Uint8Array[]): boolean =>
  words.some((word) => isWord(line, start, end, word));

/** Walks `"key": value` pairs. `inAttachment`: the object is an attachment, and its `type` decides. */
const walk = (line: Buffer, start: number, inAttachment: boolean): Head => {
  let at = start;
  let system = false;
  for (;;) {
    at = skipSpace(line, at);
    if (line[at] === COMMA) at = skipSpace(line, at + 1);
    const keyEnd = plainKeyEnd(line, at);
    if (keyEnd === -1) return candidate(at);
    const keyStart = at + 1;
    const valueAt = valueStart(line, keyEnd + 1);
    if (valueAt === -1) return candidate(at);
    const value = line[valueAt];
    if (value === OPEN || value === OPEN_LIST) {
      const attachment = !inAttachment && value === OPEN && isWord(line, keyStart, keyEnd, ATTACHMENT);
      return attachment ? walk(line, valueAt + 1, true) : candidate(valueAt);
    }
    const end = valueEnd(line, valueAt);
    if (end === -1) return candidate(valueAt);
    if (isWord(line, keyStart, keyEnd, TYPE)) {
      if (inAttachment) return isWord(line, valueAt + 1, end - 1, QUEUED_COMMAND) ? candidate(end) : inert(end);
      if (isOneOf(line, valueAt + 1, end - 1, PARSED_TYPES)) return candidate(end);
      if (isWord(line, valueAt + 1, end - 1, SYSTEM)) system = true;
      else if (!isWord(line, valueAt + 1, end - 1, ATTACHMENT)) return inert(end);
    } else if (!inAttachment && value === TRUE && isWord(line, keyStart, keyEnd, SIDECHAIN)) {
      return inert(end);
    } else if (system && isWord(line, keyStart, keyEnd, SUBTYPE)) {
      return isOneOf(line, valueAt + 1, end - 1, PARSED_SUBTYPES) ? candidate(end) : inert(end);
    }
    at = end;
  }
};

/** Keys of interest are short; a longer one, or one with an escape (it could be any key), is not read on. */
const MAX_KEY_BYTES = 64;

/** Where the quote behind a plain key stands; -1 where there is no such key. */
const plainKeyEnd = (line: Buffer, start: number): number => {
  if (line[start] !== QUOTE) return -1;
  for (let at = start + 1; at <= start + MAX_KEY_BYTES; at += 1) {
    if (line[at] === QUOTE) return at;
    if (line[at] === BACKSLASH) return -1;
  }
  return -1;
};

/** Where the value behind a key begins; -1 where no colon follows. */
const valueStart = (line: Buffer, keyEnd: number): number => {
  const colon = skipSpace(line, keyEnd);
  return line[colon] === COLON ? skipSpace(line, colon + 1) : -1;
};

/** Where a plain value ends (behind it); -1 where it does not. */
const valueEnd = (line: Buffer, start: number): number => {
  if (line[start] === QUOTE) return stringEnd(line, start);
  let at = start;
  while (at < line.length && line[at] !== COMMA && line[at] !== CLOSE) at += 1;
  return at < line.length && at > start ? at : -1;
};

const stringEnd = (line: Buffer, start: number): number => {
  let at = line.indexOf(QUOTE, start + 1);
  while (at !== -1) {
    let slashes = 0;
    while (line[at - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at + 1;
    at = line.indexOf(QUOTE, at + 1);
  }
  return -1;
};

const skipSpace = (line: Buffer, start: number): number => {
  let at = start;
  while (isSpace(line[at])) at += 1;
  return at;
};

/** How a record of Claude Code begins; a second one inside a line was glued on by a writer that had died in the first. */
const TYPE_FIRST = Buffer.from('{"type"');
const PARENT_FIRST = Buffer.from('{"parentUuid"');

/** How far from a line's end a second record is looked for: records that decide are far smaller. */
const GLUED_BYTES = 16 * 1_024;
/** So many braces are looked at one by one; a line with more is searched for what stands behind them. */
const FEW_BRACES = 32;

/**
 * Whether another record that can decide may begin behind `behind`: the line must then be looked at as a whole. Braces are
 * rare in most long lines, and one byte is what the system finds fastest (half the time of a search for the words).
 */
export const mayHoldAnother = (line: Buffer, behind: number): boolean => {
  let at = line.indexOf(OPEN, Math.max(behind, line.length - GLUED_BYTES));
  for (let braces = 0; at !== -1; braces += 1) {
    if (braces === FEW_BRACES) return holdsAnother(line, at);
    if (isWord(line, at, at + PARENT_FIRST.length, PARENT_FIRST) || isTypedRecord(line, at)) return true;
    at = line.indexOf(OPEN, at + 1);
  }
  return false;
};

/** The same, by search. */
const holdsAnother = (line: Buffer, from: number): boolean => {
  if (line.indexOf(PARENT_FIRST, from) !== -1) return true;
  for (let at = line.indexOf(TYPE_FIRST, from); at !== -1; at = line.indexOf(TYPE_FIRST, at + 1)) {
    if (isTypedRecord(line, at)) return true;
  }
  return false;
};

/** Whether a record of a type that can decide begins here. */
const isTypedRecord = (line: Buffer, at: number): boolean => {
  if (!isWord(line, at, at + TYPE_FIRST.length, TYPE_FIRST)) return false;
  const value = valueStart(line, at + TYPE_FIRST.length);
  const end = value === -1 ? -1 : valueEnd(line, value);
  return end !== -1 && isOneOf(line, value + 1, end - 1, PARSED_TYPES);
};
