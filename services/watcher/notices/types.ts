import { createHash } from 'node:crypto';
import type { TrailEntry } from '#shared/trail/reasons.js';

/** Every type of notice that goes out, and what it tells. Receivers see these names. */
export const NOTICE_TYPES = {
  'chat.killed': 'A background task was ended and nothing has answered that: the chat is idle.',
  'chat.stuck': 'The chat has been silent for too long after a killed task.',
  'chat.exhausted': 'The chat hangs again, and the automatic tries are used up.',
  'chat.recovered': 'A nudged chat replied and goes on.',
  'chat.login_needed': 'The chat ended in a login error: somebody must log in again.',
  'chat.limit_reached': 'The chat ended at a usage limit.',
  'session_api.down': 'A session API cannot be reached: recoveries of its chats wait.',
  'workers.none': 'No recovery worker is alive: nothing is evaluated.',
  'recovery.paused_itself': 'Five nudges in a row had no effect: recovery has paused itself until it is resumed.',
  digest: 'Many notices of one type came within a minute; this one stands for them.',
} as const satisfies Record<string, string>;
export type NoticeType = keyof typeof NOTICE_TYPES;

/** A notice on its way into the outbox. */
export interface Notice {
  /** Also the `webhook-id`: a receiver that gets it twice can tell. */
  id: string;
  type: NoticeType;
  /** What is told once only. */
  episode: string;
  /** For how long the episode counts as told. */
  ttlMs: number;
  data: Record<string, unknown>;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const TASK_TEXT_LENGTH = 200;

export function notice(type: NoticeType, episode: string, data: Record<string, unknown>, ttlMs = DAY_MS): Notice {
  const id = `ntc_${createHash('sha256')
    .update(`${episode}\n${JSON.stringify(data)}`)
    .digest('base64url')
    .slice(0, 27)}`;
  return { id, type, episode, ttlMs, data };
}

/** The notice that a line of the trail makes, if any. `lineId` tells two lines of one kind apart. */
export function noticeOfLine(entry: TrailEntry, lineId: string): Notice | undefined {
  const type = typeOf(entry);
  if (type === undefined) return undefined;
  const { atMs, sessionId, server, project, reason, detail = {} } = entry;
  const data =
    type === 'recovery.paused_itself' ? { atMs } : { atMs, sessionId, server, project, ...facts(reason, detail) };
  // An error is shown by whoever looks, watcher or worker, each in its way: one notice an hour and chat.
  const isError = type === 'chat.login_needed' || type === 'chat.limit_reached';
  if (isError) return notice(type, `${type} ${sessionId}`, data, HOUR_MS);
  const hang = textOf(detail['notice']);
  return notice(type, `${type} ${sessionId} ${type === 'chat.killed' && hang !== undefined ? hang : lineId}`, data);
}

function typeOf({ kind, reason, detail = {} }: TrailEntry): NoticeType | undefined {
  switch (kind) {
    case 'killed-task':
      return 'chat.killed';
    case 'stuck':
      return 'chat.stuck';
    case 'exhausted':
      return 'chat.exhausted';
    case 'recovered':
      return 'chat.recovered';
    case 'paused':
      return reason === 'paused-itself' ? 'recovery.paused_itself' : undefined;
    case 'error-entry': {
      const error = detail['class'] ?? detail['errorClass'];
      if (error === 'login') return 'chat.login_needed';
      return error === 'usage-limit' ? 'chat.limit_reached' : undefined;
    }
    default:
      return undefined;
  }
}

function facts(reason: string | undefined, detail: Record<string, unknown>): Record<string, unknown> {
  const tasks = Array.isArray(detail['tasks']) ? (detail['tasks'] as Record<string, unknown>[]) : undefined;
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(detail['afterMs'] === undefined ? {} : { replyAfterMs: detail['afterMs'] }),
    ...(tasks === undefined || tasks.length === 0
      ? {}
      : {
          tasks: tasks
            .slice(0, 10)
            .map(({ id, summary }) => ({ id, summary: textOf(summary)?.slice(0, TASK_TEXT_LENGTH) })),
        }),
  };
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
