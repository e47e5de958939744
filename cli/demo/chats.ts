import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { PROJECT } from './parts.ts';
import type { ChatPlan } from './runtime.ts';

/** A chat of the demo. */
export interface DemoChat {
  /** `hung` or `healthy`, as the story calls it. */
  who: string;
  sessionId: string;
  transcriptPath: string;
}

/** The example chat server's calls that the demo makes. Each throws where the server does not answer as expected. */
export interface ChatServerCalls {
  open(who: string, plan: ChatPlan): Promise<DemoChat>;
  /** What happened in the chat so far, oldest first. */
  happenings(chat: DemoChat): Promise<Happening[]>;
  /** Has the runtime end the chat's background tasks. */
  killTasks(chat: DemoChat): Promise<void>;
  /** A nudge that recovery did not send: shows that the demo's judge notices. */
  nudge(chat: DemoChat, label: string): Promise<void>;
}

export interface Happening {
  kind: string;
  fields: Record<string, unknown>;
}

export function chatServerCalls(url: string, token: string): ChatServerCalls {
  const call = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`The chat server answered ${method} ${path} with ${response.status}: ${text}`);
    return text === '' ? {} : record(JSON.parse(text));
  };
  return {
    async open(who, { script, prompt }) {
      const plan = { ...(script === undefined ? {} : { script }), ...(prompt === undefined ? {} : { prompt }) };
      const chat = await call('POST', '/chats', { project: PROJECT, ...plan });
      return { who, sessionId: String(chat['sessionId']), transcriptPath: String(chat['transcriptPath']) };
    },
    async happenings({ sessionId }) {
      const { happenings } = await call('GET', `/chats/${sessionId}`);
      if (!Array.isArray(happenings)) return [];
      return happenings.map(record).map(({ kind, fields }) => ({ kind: String(kind), fields: record(fields) }));
    },
    async killTasks({ sessionId }) {
      const { tasks } = await call('GET', `/chats/${sessionId}`);
      if (!Array.isArray(tasks)) return;
      for (const task of tasks.map(record)) await call('POST', `/chats/${sessionId}/tasks/${String(task['id'])}/kill`);
    },
    async nudge({ sessionId }, label) {
      const message = { text: `[${label}] Once more.`, sender: { kind: 'recovery', label }, onlyIfIdle: true };
      await call('POST', `/sessions/${sessionId}/messages`, message, { 'idempotency-key': randomUUID() });
    },
  };
}

/** A session as the watcher tells it: its state and the trail of decisions. `undefined` while it knows nothing of it. */
export async function watcherSession(
  url: string,
  sessionId: string,
): Promise<{ state: string; trail: TrailLine[]; debounceMs: number } | undefined> {
  const response = await fetch(`${url}/v1/sessions/${sessionId}`, { signal: AbortSignal.timeout(5_000) });
  if (!response.ok) {
    await response.body?.cancel();
    return undefined;
  }
  const session = record(await response.json());
  const trail = Array.isArray(session['trail']) ? session['trail'].map(record) : [];
  const values = record(record(session['settings'])['values']);
  return {
    state: String(session['state']),
    debounceMs: Number(values['debounceMs'] ?? 0),
    trail: trail.map((line) => ({
      kind: String(line['kind']),
      reason: typeof line['reason'] === 'string' ? line['reason'] : undefined,
      reasonText: typeof line['reasonText'] === 'string' ? line['reasonText'] : undefined,
    })),
  };
}

export interface TrailLine {
  kind: string;
  reason: string | undefined;
  reasonText: string | undefined;
}

/** The chat's transcript as it stands; empty before its first line. */
export async function transcriptOf({ transcriptPath }: DemoChat): Promise<string> {
  return readFile(transcriptPath, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
