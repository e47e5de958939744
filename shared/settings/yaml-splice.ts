import { isMap as isYamlMap, isScalar, type Pair, type YAMLMap } from 'yaml';

/** Fields to set; `null` removes one. */
export type BlockChange = Readonly<Record<string, boolean | number | string | null>>;

/** A piece of the text to replace. */
export interface Splice {
  from: number;
  to: number;
  text: string;
}

/** The pair of a plain key. */
export function pairOf(map: YAMLMap, key: string): Pair | undefined {
  return map.items.find((pair) => isScalar(pair.key) && pair.key.value === key);
}

/** The splices that set a block's fields; `undefined` where the layout is none that they could handle. `top` is the file's map. */
export function changeSplices(
  text: string,
  top: YAMLMap | undefined,
  block: string,
  change: BlockChange,
): Splice[] | undefined {
  const pair = top === undefined ? undefined : pairOf(top, block);
  if (pair === undefined) {
    if (top?.flow === true) return undefined;
    const margin = top?.items[0] === undefined ? '' : columnOf(text, top.items[0]);
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
export function wholeLines(text: string, pair: Pair): Splice {
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

/** The text with every splice in its place; `undefined` for no splices at all. */
export function applySplices(text: string, splices: readonly Splice[] | undefined): string | undefined {
  if (splices === undefined) return undefined;
  return splices
    .toSorted((a, b) => b.from - a.from || b.to - a.to)
    .reduce((result, { from, to, text: replacement }) => result.slice(0, from) + replacement + result.slice(to), text);
}
