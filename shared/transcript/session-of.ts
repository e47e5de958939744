import { BLOCKS, readBackwards } from './backwards.ts';
import type { TranscriptSource } from './finding.ts';
import { trimmed } from './head.ts';
import { type JsonObject, isObject, objectAt, textAt } from './json.ts';
import { isNotificationText } from './text.ts';

/** Further back than this a file that has told nothing will tell nothing. */
const LOOK_BACK_BYTES = 4 * 1_024 * 1_024;

/**
 * Whose file this is, for a file that is not named by its session: the session of its newest line.
 *
 * A fork's file begins with its parent's lines and goes on with its own, so the newest line decides. What the queue says
 * does not: a notice can be delivered into another chat's file (claude-code#76174), and the chat is still the file's.
 * `undefined` where no line names a session, or nothing can be read.
 */
export const sessionIdOf = async (source: TranscriptSource, path: string): Promise<string | undefined> => {
  const view = await source.open(path);
  if ('missing' in view || 'unreadable' in view) return undefined;
  let best: string | undefined;
  let fallback: string | undefined;
  try {
    await readBackwards(
      view,
      { ...BLOCKS, scanLimitBytes: LOOK_BACK_BYTES },
      (line) => {
        const record = line.kind === 'whole' ? recordIn(line.bytes) : undefined;
        const session = record && textAt(record, 'sessionId');
        if (record === undefined || session === undefined) return;
        fallback ??= session;
        if (!isQueueTraffic(record)) best ??= session;
      },
      () => best !== undefined,
    );
  } finally {
    await view.close();
  }
  return best ?? fallback;
};

const recordIn = (bytes: Buffer): JsonObject | undefined => {
  try {
    const record: unknown = JSON.parse(trimmed(bytes).toString('utf8'));
    return isObject(record) ? record : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
};

/** The queue's own lines, and notices in whatever form they were delivered. */
const isQueueTraffic = (record: JsonObject): boolean => {
  if (record['type'] === 'queue-operation') return true;
  if (objectAt(record, 'attachment')['commandMode'] === 'task-notification') return true;
  return isNotificationText(textAt(objectAt(record, 'message'), 'content') ?? '');
};
