import { isDeepStrictEqual } from 'node:util';
import { isMap as isYamlMap, isScalar, type Pair, parseDocument, Scalar, type YAMLMap } from 'yaml';
import { isMap } from './precedence.ts';
import { parseYamlMap, type YamlMap } from './yaml-text.ts';

/** Fields to set; `null` removes one. */
export type BlockChange = Readonly<Record<string, boolean | number | string | null>>;

/** A piece of the text to replace. */
interface Splice {
  from: number;
  to: number;
  text: string;
}

/**
 * Sets fields in one top-level block of a YAML text. Everything else stays byte for byte, comments and layout included: only
 * the values' own characters change, and lines come and go. Where the text is laid out in a way that this cannot do (flow
 * style, aliases), the document is written anew by the YAML library, which keeps comments but may change layout.
 * Throws {@link YamlFault} on a text that is no YAML map.
 */
export function editBlock(text: string, block: string, change: BlockChange): string {
  const parsed = parseYamlMap(text);
  const before = parsed.value[block];
  const wanted = { ...parsed.value, [block]: applied(isMap(before) ? before : {}, change) };
  return firstThatReads(wanted, block, [
    () => spliced(text, blockSplices(text, parsed, block, change)),
    () => rewritten(text, block, (map) => setFields(map, block, change)),
  ]);
}

/** Removes a top-level block; the rest stays as in {@link editBlock}. A text that would be empty becomes an empty map. */
export function removeBlock(text: string, block: string): string {
  const parsed = parseYamlMap(text);
  const pair = findPair(parsed, block);
  if (pair === undefined) return text;
  const { [block]: _removed, ...wanted } = parsed.value;
  return firstThatReads(wanted, block, [
    () => orEmptyMap(spliced(text, [wholeLines(text, pair)])),
    () => orEmptyMap(rewritten(text, block, (map) => map.delete(block))),
  ]);
}

/** The first candidate that, read again, says exactly what is wanted. */
function firstThatReads(
  wanted: Record<string, unknown>,
  block: string,
  candidates: readonly (() => string | undefined)[],
): string {
  const normal = (value: Record<string, unknown>) => ({ ...value, [block]: value[block] ?? {} });
  for (const candidate of candidates) {
    const text = candidate();
    if (text !== undefined && isDeepStrictEqual(normal(readOr(text)), normal(wanted))) return text;
  }
  throw new Error('the YAML text cannot be edited safely');
}

function readOr(text: string): Record<string, unknown> {
  try {
    return parseYamlMap(text).value;
  } catch {
    return { unreadable: true };
  }
}

function applied(before: Record<string, unknown>, change: BlockChange): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries({ ...before, ...change }).filter(([key, value]) => value !== null || !(key in change)),
  );
}

function findPair({ document }: YamlMap, block: string): Pair | undefined {
  const top: unknown = document.contents;
  return isYamlMap(top) ? pairOf(top, block) : undefined;
}

function pairOf(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && pair.key.value === key);
}

/** The splices for a change, or `undefined` where the layout is none that they could handle. */
function blockSplices(text: string, parsed: YamlMap, block: string, change: BlockChange): Splice[] | undefined {
  const top: unknown = parsed.document.contents;
  const pair = findPair(parsed, block);
  if (pair === undefined) {
    if (isYamlMap(top) && top.flow === true) return undefined;
    const margin = isYamlMap(top) && top.items[0] !== undefined ? columnOf(text, top.items[0]) : '';
    return [newBlock(text, margin, block, change)];
  }
  const margin = columnOf(text, pair);
  const { value } = pair;
  if (isYamlMap(value) && value.flow !== true && value.items.length > 0) return fieldSplices(text, value, change);
  if (isScalar(value) && value.value === null && value.source === '') {
    return [insertion(text, lineEnd(text, rangeOf(pair.key)?.[1] ?? 0), lines(`${margin}  `, change))];
  }
  return undefined;
}

function fieldSplices(text: string, map: YAMLMap, change: BlockChange): Splice[] | undefined {
  const splices: Splice[] = [];
  const added: Record<string, boolean | number | string> = {};
  for (const [key, value] of Object.entries(change)) {
    const pair = pairOf(map, key);
    if (value !== null && pair === undefined) added[key] = value;
    if (pair === undefined) continue;
    const splice = value === null ? wholeLines(text, pair) : replaced(pair, value);
    if (splice === undefined) return undefined;
    splices.push(splice);
  }
  const [first] = map.items;
  const last = map.items.at(-1);
  if (first === undefined || last === undefined) return undefined;
  if (Object.keys(added).length > 0) {
    splices.push(insertion(text, lineEnd(text, lastCharacter(last)), lines(columnOf(text, first), added)));
  }
  return splices;
}

function replaced(pair: Pair, value: boolean | number | string): Splice | undefined {
  const range = rangeOf(pair.value);
  if (range === undefined || !isScalar(pair.value)) return undefined;
  const written = inYaml(value);
  // `key:` without a value: the empty node stands right behind the colon.
  return { from: range[0], to: range[1], text: range[0] === range[1] ? ` ${written}` : written };
}

function newBlock(text: string, margin: string, block: string, change: BlockChange): Splice {
  return insertion(text, text.length, [`${margin}${block}:`, ...lines(`${margin}  `, change)]);
}

function lines(margin: string, change: BlockChange): string[] {
  return Object.entries(change).flatMap(([key, value]) =>
    value === null ? [] : [`${margin}${key}: ${inYaml(value)}`],
  );
}

function inYaml(value: boolean | number | string): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

/** New lines at the start of a line (or behind an end of text without one). */
function insertion(text: string, at: number, added: readonly string[]): Splice {
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const open = at > 0 && text[at - 1] !== '\n';
  return { from: at, to: at, text: (open ? eol : '') + added.map((line) => line + eol).join('') };
}

/** Everything from the line that a pair begins on to the end of the line that it ends on. */
function wholeLines(text: string, pair: Pair): Splice {
  const start = rangeOf(pair.key)?.[0] ?? 0;
  return { from: text.lastIndexOf('\n', start - 1) + 1, to: lineEnd(text, lastCharacter(pair)), text: '' };
}

/** White space in front of the pair's key on its line. */
function columnOf(text: string, pair: Pair): string {
  const start = rangeOf(pair.key)?.[0] ?? 0;
  return text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
}

/** Where the pair's last real character ends; trailing comments and blank lines do not count. */
function lastCharacter(pair: Pair): number {
  const { value } = pair;
  const inner = isYamlMap(value) && value.flow !== true ? value.items.at(-1) : undefined;
  if (inner !== undefined) return lastCharacter(inner);
  return rangeOf(value)?.[1] ?? rangeOf(pair.key)?.[1] ?? 0;
}

/** Index behind the line break that ends the line of `at`. */
function lineEnd(text: string, at: number): number {
  if (at > 0 && text[at - 1] === '\n') return at;
  const end = text.indexOf('\n', at);
  return end === -1 ? text.length : end + 1;
}

function rangeOf(node: unknown): readonly [number, number] | undefined {
  if (typeof node !== 'object' || node === null || !('range' in node) || !Array.isArray(node.range)) return undefined;
  const [from, to]: unknown[] = node.range;
  return typeof from === 'number' && typeof to === 'number' ? [from, to] : undefined;
}

function spliced(text: string, splices: readonly Splice[] | undefined): string | undefined {
  if (splices === undefined) return undefined;
  return splices
    .toSorted((a, b) => b.from - a.from || b.to - a.to)
    .reduce((result, { from, to, text: replacement }) => result.slice(0, from) + replacement + result.slice(to), text);
}

/** The whole document through the library, with long lines left unfolded. */
function rewritten(text: string, block: string, edit: (map: YAMLMap) => void): string {
  const document = parseDocument(text);
  if (document.contents === null) document.set(block, {});
  const top: unknown = document.contents;
  if (!isYamlMap(top)) return text;
  edit(top);
  return document.toString({ lineWidth: 0 });
}

function setFields(top: YAMLMap, block: string, change: BlockChange): void {
  if (top.items.length === 0) top.flow = false;
  const before: unknown = top.get(block, true);
  if (!isYamlMap(before)) {
    top.set(block, applied({}, change));
    return;
  }
  for (const [key, value] of Object.entries(change)) {
    if (value === null) before.delete(key);
    else before.set(key, new Scalar(value));
  }
}

function orEmptyMap(text: string | undefined): string | undefined {
  if (text === undefined || Object.keys(readOr(text)).length > 0) return text;
  return parseDocument(text).contents === null ? `${text}{}\n` : text;
}
