import type { Entry } from './entry.ts';
import type { LineContext, ParsedLine } from './line.ts';
import { entryOf } from './line.ts';
import { headOf, trimmed } from './head.ts';
import type { JsonObject } from './json.ts';

/**
 * A line too long to be held (over 4 MB), judged by its two ends alone.
 *
 * Bookkeeping is passed over. A tool's result, a prompt, a reply of that size is real, so it is taken for the entry that
 * its ends say it is, in the way that never makes a chat hung: a reply leaves its turn open.
 */
export const parseLongLine = (head: Buffer, tail: Buffer, offset: number, context: LineContext): ParsedLine => {
  const start = trimmed(head);
  if (headOf(start).kind !== 'candidate') return { entries: [], skipped: true };
  const record = recordFrom(start.toString('utf8'), tail.toString('utf8'));
  const entry: Entry | undefined = record === undefined ? undefined : entryOf(record, offset, context);
  return { entries: entry === undefined ? [] : [entry], skipped: true };
};

/** A small record with the fields that the line's ends show; `undefined` where they do not say what it is. */
const recordFrom = (head: string, tail: string): JsonObject | undefined => {
  const type =
    /"type"\s*:\s*"(user|assistant|queue-operation)"/.exec(head)?.[1] ??
    /"type"\s*:\s*"(user|assistant)"/.exec(tail)?.[1];
  if (type === undefined) return undefined;
  const ends = `${head}\n${tail}`;
  const common = {
    type,
    isSidechain: /"isSidechain"\s*:\s*true/.test(ends),
    sessionId: field(tail, 'sessionId') ?? field(head, 'sessionId'),
    timestamp: field(head, 'timestamp') ?? field(tail, 'timestamp'),
    uuid: field(tail, 'uuid') ?? field(head, 'uuid'),
    version: field(tail, 'version'),
  };
  if (type === 'queue-operation')
    return { ...common, operation: field(head, 'operation'), content: 'a very long text' };
  if (type === 'assistant')
    return { ...common, message: { model: field(head, 'model'), stop_reason: 'tool_use', content: 'x' } };
  const call = /"tool_use_id"\s*:\s*"([^"\\]*)"/.exec(ends)?.[1];
  const result = [{ type: 'tool_result', tool_use_id: call ?? '' }];
  const isResult = /"type"\s*:\s*"tool_result"/.test(ends);
  return {
    ...common,
    isCompactSummary: /"isCompactSummary"\s*:\s*true/.test(ends),
    isMeta: /"isMeta"\s*:\s*true/.test(ends),
    promptSource: field(tail, 'promptSource'),
    message: { content: isResult ? result : 'a very long text' },
  };
};

const field = (text: string, name: string): string | undefined =>
  new RegExp(`"${name}"\\s*:\\s*"([^"\\\\]*)"`).exec(text)?.[1];
