import type { Entry, EntryBase, Launch, PromptAuthor } from './entry.ts';
import { type JsonObject, isObject, objectAt, objectsAt, textAt } from './json.ts';
import { parseNotifications } from './notification.ts';
import {
  hasNonUserLine,
  isCommandText,
  isInterruptionText,
  isLocalOutput,
  isNotificationText,
  isNudgeText,
  textKey,
  textOf,
  withoutNonUserLine,
} from './text.ts';

/** Reads a main-chain `user` entry; `undefined` where it is inert. */
export const userEntry = (line: JsonObject, base: EntryBase, labels: readonly string[]): Entry | undefined => {
  // A summary, and whatever the runtime keeps from the model, is nobody's message.
  if (line['isCompactSummary'] === true || line['isVisibleInTranscriptOnly'] === true) return undefined;
  const content = objectAt(line, 'message')['content'];
  const text = textOf(content);
  if (text !== undefined && isMarker(line, content)) return { ...base, kind: 'interruption' };
  const results = objectsAt(objectAt(line, 'message'), 'content').filter((block) => block['type'] === 'tool_result');
  if (results.length > 0) return toolResult(line, base, results);
  if (text === undefined) return imagePrompt(line, base, content);
  if (isRuntimeNotification(line, content, text)) {
    const payload = withoutNonUserLine(text);
    const noTurn = line['queueTranscriptOnly'] === true;
    return {
      ...base,
      kind: 'notification',
      via: 'user',
      blocks: parseNotifications(payload),
      key: textKey(text),
      noTurn,
    };
  }
  return prompt(line, base, text, labels);
};

/** The interruption marker is the runtime's: a person who types its words writes a prompt. */
const isMarker = (line: JsonObject, content: unknown): boolean => {
  if (saysHuman(line)) return false;
  if (typeof content === 'string') return isInterruptionText(content);
  return (
    Array.isArray(content) &&
    content.some(
      (block) => isObject(block) && block['type'] === 'text' && isInterruptionText(textAt(block, 'text') ?? ''),
    )
  );
};

/**
 * Whether the runtime wrote this notification itself (SPEC §5 b): its origin says so; before 2.1.150 there was no origin,
 * and what was typed or sent could not be told apart either.
 */
const isRuntimeNotification = (line: JsonObject, content: unknown, text: string): boolean => {
  if (!isNotificationText(withoutNonUserLine(text))) return false;
  if (objectAt(line, 'origin')['kind'] === 'task-notification') return true;
  if (typeof content !== 'string' || line['isMeta'] === true) return false;
  return line['origin'] === undefined && line['promptSource'] === undefined && !writesOrigins(textAt(line, 'version'));
};

/** 2.1.150 was the first version seen to write `origin` on the runtime's own prompts. */
const writesOrigins = (version: string | undefined): boolean => {
  const [major = 0, minor = 0, patch = 0] = (version ?? '').split('.').map((part) => Number.parseInt(part, 10) || 0);
  return major * 1e8 + minor * 1e4 + patch >= 2 * 1e8 + 1 * 1e4 + 150;
};

const prompt = (line: JsonObject, base: EntryBase, text: string, labels: readonly string[]): Entry | undefined => {
  const nudge = isNudgeText(text, labels);
  if (line['isMeta'] === true && !nudge && !isHostSynthetic(line, text)) return undefined;
  if (isLocalOutput(text)) return undefined;
  if (isCommandText(text)) return { ...base, kind: 'command' };
  const by: PromptAuthor = nudge ? 'nudge' : authorOf(line, text);
  return { ...base, kind: 'prompt', by, certain: by === 'human' && saysHuman(line), key: textKey(text) };
};

/** A message without text: an image is a person's prompt, an empty array is nothing. */
const imagePrompt = (line: JsonObject, base: EntryBase, content: unknown): Entry | undefined => {
  if (!Array.isArray(content) || content.length === 0 || line['isMeta'] === true) return undefined;
  const by = authorOf(line, '');
  return { ...base, kind: 'prompt', by, certain: by === 'human' && saysHuman(line), key: undefined };
};

/** A message that a host injected as synthetic still starts a turn. */
const isHostSynthetic = (line: JsonObject, text: string): boolean =>
  line['turnOrigin'] === 'host_synthetic' || hasNonUserLine(text);

const saysHuman = (line: JsonObject): boolean =>
  objectAt(line, 'origin')['kind'] === 'human' || line['promptSource'] === 'typed';

/** Sources of a prompt behind which a person may stand; every other one names a machine. */
const PERSONAL_SOURCES: ReadonlySet<unknown> = new Set([undefined, 'typed', 'sdk', 'user']);

const authorOf = (line: JsonObject, text: string): PromptAuthor => {
  if (saysHuman(line)) return 'human';
  if (line['isMeta'] === true || hasNonUserLine(text)) return 'machine';
  if (isObject(line['origin'])) return 'machine';
  return PERSONAL_SOURCES.has(line['promptSource']) ? 'human' : 'machine';
};

const toolResult = (line: JsonObject, base: EntryBase, results: JsonObject[]): Entry => {
  const toolUseIds = results.map((block) => textAt(block, 'tool_use_id') ?? '');
  const failed = results.every((block) => block['is_error'] === true);
  return { ...base, kind: 'tool-result', toolUseIds, failed, launches: launchesOf(line, results) };
};

/** Background work as the tool's result names it: a shell by `backgroundTaskId`, an agent by `agentId` with `isAsync`. */
const launchesOf = (line: JsonObject, results: readonly JsonObject[]): Launch[] => {
  const toolUseId = textAt(results[0] ?? {}, 'tool_use_id');
  const result = objectAt(line, 'toolUseResult');
  const shell = textAt(result, 'backgroundTaskId');
  if (shell !== undefined) return [{ toolUseId, taskId: shell, byWords: false }];
  const agent = textAt(result, 'agentId');
  if (agent !== undefined && result['isAsync'] === true) return [{ toolUseId, taskId: agent, byWords: false }];
  return results.flatMap((block) => launchByWords(block));
};

/** "Command running in background with ID: b1" and its like, at the very beginning of a result. */
const LAUNCH_WORDS = /^(?:\S+ ){0,6}with id:? ([\w-]+)/i;

const launchByWords = (block: JsonObject): Launch[] => {
  const taskId = LAUNCH_WORDS.exec((textOf(block['content']) ?? '').slice(0, 200))?.[1];
  return taskId === undefined ? [] : [{ toolUseId: textAt(block, 'tool_use_id'), taskId, byWords: true }];
};
