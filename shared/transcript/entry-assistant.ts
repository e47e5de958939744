import type { Entry, EntryBase, ToolCall } from './entry.ts';
import type { ErrorClass } from './finding.ts';
import { type JsonObject, objectAt, objectsAt, textAt } from './json.ts';
import { textOf } from './text.ts';

const SYNTHETIC_MODEL = '<synthetic>';

/** Tools with which a chat ends its own background task; the older names are the same tool. */
const STOPPING_TOOLS: ReadonlySet<string> = new Set(['TaskStop', 'KillShell', 'KillBash']);
const STOPPED_ID_FIELDS = ['task_id', 'taskId', 'shell_id', 'bash_id', 'id'] as const;

/** Reads a main-chain `assistant` entry; `undefined` where it has no content. */
export const assistantEntry = (line: JsonObject, base: EntryBase): Entry | undefined => {
  const message = objectAt(line, 'message');
  const text = (textOf(message['content']) ?? '').trim();
  if (line['isApiErrorMessage'] === true) return { ...base, kind: 'api-error', class: errorClass(line, text) };
  if (message['model'] === SYNTHETIC_MODEL) return synthetic(line, base, text);
  return realReply(message, base, text);
};

/** The model name alone does not say which synthetic entry it is: an error names itself, the rest is the placeholder. */
const synthetic = (line: JsonObject, base: EntryBase, text: string): Entry =>
  line['error'] !== undefined || line['apiErrorStatus'] !== undefined || text.startsWith('API Error')
    ? { ...base, kind: 'api-error', class: errorClass(line, text) }
    : { ...base, kind: 'placeholder' };

const realReply = (message: JsonObject, base: EntryBase, text: string): Entry | undefined => {
  const blocks = objectsAt(message, 'content');
  const stopReason = message['stop_reason'];
  const calls = blocks.filter((block) => block['type'] === 'tool_use').map(toolCall);
  const open = calls.length > 0 || stopReason === 'tool_use';
  const thoughts = blocks.filter((block) => block['type'] === 'thinking' || block['type'] === 'redacted_thinking');
  if (thoughts.length > 0 && thoughts.length === blocks.length) {
    const ended = typeof stopReason === 'string' && !open;
    return ended ? { ...base, kind: 'reply', open: false, calls } : { ...base, kind: 'thinking' };
  }
  const empty = text === '' && blocks.every((block) => block['type'] === 'text');
  return empty ? undefined : { ...base, kind: 'reply', open, calls };
};

const toolCall = (block: JsonObject): ToolCall => {
  const input = objectAt(block, 'input');
  const stops = STOPPING_TOOLS.has(textAt(block, 'name') ?? '')
    ? STOPPED_ID_FIELDS.map((field) => textAt(input, field)).find((id) => id !== undefined)
    : undefined;
  return { id: textAt(block, 'id') ?? '', background: input['run_in_background'] === true, stops };
};

/** Class of an API error: the status where there is one, then the runtime's own name for it, then its words. */
const errorClass = (line: JsonObject, text: string): ErrorClass => {
  const byStatus = CLASS_BY_STATUS.get(line['apiErrorStatus']);
  if (byStatus !== undefined) return byStatus;
  const names = `${textAt(line, 'error') ?? ''} ${textAt(line, 'apiErrorType') ?? ''} ${text}`;
  return CLASS_BY_WORDS.find(([, words]) => words.test(names))?.[0] ?? 'other';
};

const CLASS_BY_STATUS: ReadonlyMap<unknown, ErrorClass> = new Map<unknown, ErrorClass>([
  [429, 'usage-limit'],
  [401, 'login'],
  [403, 'login'],
  [503, 'overload'],
  [529, 'overload'],
]);

const CLASS_BY_WORDS: readonly (readonly [ErrorClass, RegExp])[] = [
  ['login', /authenticat|\b40[13]\b|log ?in|oauth|invalid (?:x-)?api.key|credential/i],
  ['overload', /overload|\b5(?:29|03)\b/i],
  ['usage-limit', /rate.?limit|usage limit|\blimit (?:reached|exceeded|resets?)|hit your limit|\b429\b|quota/i],
];
