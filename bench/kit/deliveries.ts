import { signedHeaders } from '#shared/client/signature.js';
import type { LifecycleDelivery } from '#shared/session/events.js';
import type { BenchChat } from './chats.ts';

export const SECRET = `whsec_${Buffer.from('a secret of the benches').toString('base64')}`;
export const PROJECT = 'bench';

type Type = LifecycleDelivery['type'];
type DataOf<T extends Type> = Extract<LifecycleDelivery, { type: T }>['data'];
type Fields<T extends Type> = Omit<DataOf<T>, 'sessionId' | 'project' | 'transcriptPath'>;

/** A signed delivery as the bytes of one HTTP request. */
export function delivery<T extends Type>(
  chat: BenchChat,
  type: T,
  fields: Fields<T>,
  { id, stampMs = Date.now() }: { id: string; stampMs?: number },
): Buffer {
  const place = type === 'turn.ended' ? { transcriptPath: chat.path } : {};
  const data = { sessionId: chat.sessionId, project: PROJECT, ...place, ...fields };
  const body = JSON.stringify({ type, timestamp: new Date(stampMs).toISOString(), data });
  return asRequest(body, signedHeaders({ id, body }, SECRET, Date.now()));
}

/** The end of the chat's turn number `turn`. */
export function turnEnd(chat: BenchChat, turn: number, stampMs = Date.now()): Buffer {
  const fields = { driveMode: 'session', outcome: 'completed', cause: 'human', turnId: `turn-${turn}` } as const;
  return delivery(chat, 'turn.ended', fields, { id: `${chat.sessionId}-${turn}`, stampMs });
}

function asRequest(body: string, headers: Record<string, string>): Buffer {
  const lines = Object.entries({
    host: '127.0.0.1',
    connection: 'keep-alive',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST /v1/events HTTP/1.1\r\n${lines.join('')}\r\n${body}`);
}
