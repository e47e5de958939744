import { isDeepStrictEqual } from 'node:util';
import { isMap as isYamlMap, parseDocument, Scalar, type YAMLMap } from 'yaml';
import { isMap } from './precedence.ts';
import { applySplices, changeSplices, pairOf, wholeLines, type BlockChange } from './yaml-splice.ts';
import { parseYamlMap } from './yaml-text.ts';

const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Sets fields in one top-level block of a YAML text. Everything else stays byte for byte, comments and layout included: only
 * the values' own characters change, and lines come and go. Where the text is laid out in a way that this cannot do (flow
 * style, aliases), the document is written anew by the YAML library, which keeps comments but may change layout.
 * Throws {@link YamlFault} on a text that is no YAML map.
 */
export function editBlock(text: string, block: string, change: BlockChange): string {
  // The parser drops a byte-order mark, and would shift every place by one.
  if (text.startsWith(BYTE_ORDER_MARK)) return BYTE_ORDER_MARK + editBlock(text.slice(1), block, change);
  const parsed = parseYamlMap(text);
  const before = parsed.value[block];
  const after = applied(isMap(before) ? before : {}, change);
  if (isDeepStrictEqual(before ?? {}, after)) return text;
  const wanted = { ...parsed.value, [block]: after };
  const top: unknown = parsed.document.contents;
  return firstThatReads(wanted, block, [
    () => applySplices(text, changeSplices(text, isYamlMap(top) ? top : undefined, block, change)),
    () => rewritten(text, block, (map) => setFields(map, block, change, after)),
  ]);
}

/** Removes a top-level block; the rest stays as in {@link editBlock}. A text that would be empty becomes an empty map. */
export function removeBlock(text: string, block: string): string {
  if (text.startsWith(BYTE_ORDER_MARK)) return BYTE_ORDER_MARK + removeBlock(text.slice(1), block);
  const parsed = parseYamlMap(text);
  const top: unknown = parsed.document.contents;
  const pair = isYamlMap(top) ? pairOf(top, block) : undefined;
  if (pair === undefined) return text;
  const { [block]: _removed, ...wanted } = parsed.value;
  return firstThatReads(wanted, block, [
    () => orEmptyMap(applySplices(text, [wholeLines(text, pair)])),
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

/** The whole document through the library, with long lines left unfolded. */
function rewritten(text: string, block: string, edit: (map: YAMLMap) => void): string {
  const document = parseDocument(text);
  if (document.contents === null) document.set(block, {});
  const top: unknown = document.contents;
  if (!isYamlMap(top)) return text;
  edit(top);
  return document.toString({ lineWidth: 0 });
}

/** `after`: the whole block, for one that is not a map of its own yet. */
function setFields(top: YAMLMap, block: string, change: BlockChange, after: Record<string, unknown>): void {
  if (top.items.length === 0) top.flow = false;
  const before: unknown = top.get(block, true);
  if (!isYamlMap(before)) {
    top.set(block, after);
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
