import type { Entry, EntryBase, Launch } from './entry.ts';
import { type JsonObject, isObject, objectAt, textAt } from './json.ts';
import { parseNotifications } from './notification.ts';
import { isNotificationText, isNudgeText, textKey, textOf } from './text.ts';

/** Reads a `queue-operation`; unknown operations are inert. */
export const queueEntry = (line: JsonObject, base: EntryBase, labels: readonly string[]): Entry | undefined => {
  const content = line['content'];
  switch (line['operation']) {
    case 'enqueue':
      return enqueue(content, base, labels);
    case 'dequeue':
      return { ...base, kind: 'dequeue' };
    case 'remove':
      return { ...base, kind: 'remove', key: typeof content === 'string' ? textKey(content) : undefined, all: false };
    case 'popAll':
      return { ...base, kind: 'remove', key: undefined, all: true };
    default:
      return undefined;
  }
};

const enqueue = (content: unknown, base: EntryBase, labels: readonly string[]): Entry => {
  if (typeof content === 'string' && isNotificationText(content)) {
    const blocks = parseNotifications(content);
    return { ...base, kind: 'notification', via: 'enqueue', blocks, key: textKey(content), noTurn: false };
  }
  const text = textOf(content) ?? '';
  const launch = taskStart(text);
  const what = launch !== undefined ? 'launch' : isNudgeText(text, labels) ? 'nudge' : 'human';
  return { ...base, kind: 'queued', what, key: textKey(text), launch };
};

/** 2.1.50 notes the start of a task as a queue entry of JSON: `{"task_id", "tool_use_id", …}`. Nobody's message. */
const taskStart = (text: string): Launch | undefined => {
  if (!text.startsWith('{"task_id"')) return undefined;
  try {
    const start: unknown = JSON.parse(text);
    const taskId = isObject(start) ? textAt(start, 'task_id') : undefined;
    return isObject(start) && taskId !== undefined
      ? { taskId, toolUseId: textAt(start, 'tool_use_id'), byWords: false }
      : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

/** Reads an `attachment`: only a command that was taken out of the queue into the running turn matters. */
export const attachmentEntry = (line: JsonObject, base: EntryBase): Entry | undefined => {
  const attachment = objectAt(line, 'attachment');
  if (attachment['type'] !== 'queued_command') return undefined;
  const text = textOf(attachment['prompt']);
  if (attachment['commandMode'] !== 'task-notification') {
    return { ...base, kind: 'midturn-text', key: text === undefined ? undefined : textKey(text) };
  }
  if (text === undefined || !isNotificationText(text)) return undefined;
  const blocks = parseNotifications(text);
  return { ...base, kind: 'notification', via: 'attachment', blocks, key: textKey(text), noTurn: false };
};

/** Reads a `system` entry: an automatic compaction and an API retry matter. */
export const systemEntry = (line: JsonObject, base: EntryBase): Entry | undefined => {
  switch (line['subtype']) {
    case 'compact_boundary':
      return objectAt(line, 'compactMetadata')['trigger'] === 'auto' ? { ...base, kind: 'compaction' } : undefined;
    case 'api_error':
      return { ...base, kind: 'retry' };
    default:
      return undefined;
  }
};
