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

const PARSED_TYPES: ReadonlySet<string> = new Set(['user', 'assistant', 'queue-operation']);
const PARSED_SUBTYPES: ReadonlySet<string> = new Set(['compact_boundary', 'api_error']);

const candidate = (end: number): Head => ({ kind: 'candidate', end });
const inert = (end: number): Head => ({ kind: 'inert', end });

/** Walks `"key": value` pairs. `inAttachment`: the object is an attachment, and its `type` decides. */
const walk = (line: Buffer, start: number, inAttachment: boolean): Head => {
  let at = start;
  let system = false;
  for (;;) {
    const key = readKey(line, at);
    if (key === undefined) return candidate(at);
    const value = line[key.valueAt];
    if (value === OPEN || value === OPEN_LIST) {
      if (key.name !== 'attachment' || value !== OPEN || inAttachment) return candidate(key.valueAt);
      return walk(line, key.valueAt + 1, true);
    }
    const end = valueEnd(line, key.valueAt);
    if (end === undefined) return candidate(key.valueAt);
    const text = value === QUOTE && end - key.valueAt < 64 ? line.toString('latin1', key.valueAt + 1, end - 1) : '';
    if (inAttachment && key.name === 'type') return text === 'queued_command' ? candidate(end) : inert(end);
    if (!inAttachment) {
      if (key.name === 'isSidechain' && value === 0x74) return inert(end); // "t" of true
      if (system && key.name === 'subtype') return PARSED_SUBTYPES.has(text) ? candidate(end) : inert(end);
      if (key.name === 'type') {
        if (PARSED_TYPES.has(text)) return candidate(end);
        if (text === 'system') system = true;
        else if (text !== 'attachment') return inert(end);
      }
    }
    at = end;
  }
};

/** The next key's name and where its value begins; `undefined` where the bytes are no further pair. */
const readKey = (line: Buffer, start: number): { name: string; valueAt: number } | undefined => {
  let at = skipSpace(line, start);
  if (line[at] === COMMA) at = skipSpace(line, at + 1);
  if (line[at] !== QUOTE) return undefined;
  const end = line.indexOf(QUOTE, at + 1);
  if (end === -1 || end - at > 64) return undefined;
  const name = line.toString('latin1', at + 1, end);
  // A key with an escape in it could be any key.
  if (name.includes('\\')) return undefined;
  const colon = skipSpace(line, end + 1);
  return line[colon] === COLON ? { name, valueAt: skipSpace(line, colon + 1) } : undefined;
};

/** Where a plain value ends (behind it); `undefined` where it does not. */
const valueEnd = (line: Buffer, start: number): number | undefined => {
  if (line[start] === QUOTE) return stringEnd(line, start);
  let at = start;
  while (at < line.length && line[at] !== COMMA && line[at] !== CLOSE) at += 1;
  return at < line.length && at > start ? at : undefined;
};

const stringEnd = (line: Buffer, start: number): number | undefined => {
  let at = line.indexOf(QUOTE, start + 1);
  while (at !== -1) {
    let slashes = 0;
    while (line[at - 1 - slashes] === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return at + 1;
    at = line.indexOf(QUOTE, at + 1);
  }
  return undefined;
};

const skipSpace = (line: Buffer, start: number): number => {
  let at = start;
  while (isSpace(line[at])) at += 1;
  return at;
};

/** How a record of Claude Code begins; a second one inside a line was glued on by a writer that had died in the first. */
const RECORD_STARTS = [Buffer.from('{"type"'), Buffer.from('{"parentUuid"')] as const;

/** Whether another record may begin behind `from`: the line must then be looked at as a whole. */
export const mayHoldAnother = (line: Buffer, from: number): boolean =>
  RECORD_STARTS.some((start) => line.indexOf(start, from) !== -1);
