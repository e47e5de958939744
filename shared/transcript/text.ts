import { createHash } from 'node:crypto';
import { type JsonObject, isObject, textAt } from './json.ts';

/** Line that the runtime puts before a text which a host injected as synthetic (Claude Code 2.1.332). */
const NON_USER_LINE = /^\s*\[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT\]\s*/;

/** Labels by which a nudge is known everywhere, besides the configured one (SPEC §5). */
export const KNOWN_LABELS = ['Paddock recovery', 'Chat recovery', 'recovery'] as const;

/** Texts that the runtime writes under a user's role for a local command and its output: no prompt, no reply. */
const LOCAL_OUTPUT =
  /^\s*<(?:local-command-(?:stdout|stderr|caveat)|bash-(?:input|stdout|stderr)|system-reminder|user-memory-input)>/;
const COMMAND = /^\s*<command-(?:name|message|args)>/;
const INTERRUPTION = /^\s*\[Request interrupted by user/;
const NOTIFICATION = /^\s*<task-notification[\s>]/i;

export const isNotificationText = (text: string): boolean => NOTIFICATION.test(text);
export const isInterruptionText = (text: string): boolean => INTERRUPTION.test(text);
export const isLocalOutput = (text: string): boolean => LOCAL_OUTPUT.test(text);
export const isCommandText = (text: string): boolean => COMMAND.test(text);

/** Takes the runtime's "not user input" line off, so that what stands behind it can be judged. */
export const withoutNonUserLine = (text: string): string =>
  hasNonUserLine(text) ? text.replace(NON_USER_LINE, '') : text;
export const hasNonUserLine = (text: string): boolean => NON_USER_LINE.test(text);

/** Whether a text is a nudge: it begins with one of the labels in brackets (any case). */
export const isNudgeText = (text: string, labels: readonly string[]): boolean => {
  const start = withoutNonUserLine(text).trimStart();
  if (!start.startsWith('[')) return false;
  const lower = start.slice(0, 200).toLowerCase();
  return [...KNOWN_LABELS, ...labels].some((label) => lower.startsWith(`[${label.toLowerCase()}]`));
};

/** A text up to this length is its own key; a longer one is kept as its hash. */
const KEPT_TEXT = 2_048;

/** Identity of a text, equal for the copies of it that the queue and the chat hold. White space around it is no part. */
export const textKey = (text: string): string => {
  const bare = withoutNonUserLine(text).trim();
  return bare.length <= KEPT_TEXT ? bare : shortHash(bare);
};

export const shortHash = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);

/**
 * The text of a message's content: the string itself, or the text blocks of an array joined by line ends.
 * `undefined` where there is no text at all (an image alone, say).
 */
export const textOf = (content: unknown): string | undefined => {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return undefined;
  const texts = content
    .filter((block): block is JsonObject => isObject(block) && block['type'] === 'text')
    .map((block) => textAt(block, 'text') ?? '');
  return texts.length === 0 ? undefined : texts.join('\n');
};
