import { existsSync, readFileSync } from 'node:fs';
import { parseNotifications } from '../../shared/transcript/notification.ts';
import {
  isNotificationText,
  isNudgeText,
  KNOWN_LABELS,
  textOf,
  withoutNonUserLine,
} from '../../shared/transcript/text.ts';

/** One message as the chat page shows it. */
export interface ShownMessage {
  from: 'human' | 'claude' | 'recovery' | 'runtime';
  text: string;
  at: string | undefined;
}

/** As much of a transcript's entry as is shown. */
interface Entry {
  type?: string;
  operation?: string;
  content?: unknown;
  timestamp?: string;
  isMeta?: boolean;
  isSidechain?: boolean;
  message?: { content?: unknown };
}

/** The messages of a transcript in file order; lines that do not parse are passed over. */
export function messagesOf(transcriptPath: string): ShownMessage[] {
  if (!existsSync(transcriptPath)) return [];
  return readFileSync(transcriptPath, 'utf8').split('\n').flatMap(parsed).flatMap(shown);
}

function parsed(line: string): Entry[] {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? [value] : [];
  } catch {
    return [];
  }
}

function shown(entry: Entry): ShownMessage[] {
  const at = entry.timestamp;
  if (entry.isSidechain === true || entry.isMeta === true) return [];
  if (entry.type === 'queue-operation' && entry.operation === 'enqueue') {
    const text = typeof entry.content === 'string' ? entry.content : '';
    return isNotificationText(text) ? notices(text, at) : [];
  }
  const text = textOf(entry.message?.content)?.trim() ?? '';
  if (text === '') return [];
  if (entry.type === 'assistant') return [{ from: 'claude', text, at }];
  // The notice stands in the transcript twice, queued and delivered; the first is shown.
  if (entry.type !== 'user' || isNotificationText(text)) return [];
  const isNudge = isNudgeText(text, KNOWN_LABELS);
  return [{ from: isNudge ? 'recovery' : 'human', text: isNudge ? withoutNonUserLine(text) : text, at }];
}

function notices(text: string, at: string | undefined): ShownMessage[] {
  return parseNotifications(text).map(({ summary, status }) => ({
    from: 'runtime',
    text: summary === '' ? `Background task: ${status ?? 'unknown'}` : summary,
    at,
  }));
}
