import { randomUUID } from 'node:crypto';
import { IDEMPOTENCY_HEADER } from '#shared/session-api/contract.js';

/** An answer of the chat server, as it came. */
export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  /** Parsed; `undefined` where it is no JSON object. */
  json: Record<string, unknown> | undefined;
}

/** The session API of the server under test. */
export interface ChatServerApi {
  state(sessionId: string, token?: string): Promise<Answer>;
  /** Sends a nudge; `key` undefined leaves the header out. */
  send(sessionId: string, key: string | undefined, body?: unknown): Promise<Answer>;
  transcript(sessionId: string, range: string): Promise<Answer>;
}

export const LABEL = 'Paddock recovery';

/** A message that can be told from all others. */
export const nudgeBody = (): { text: string; sender: object; onlyIfIdle: true } => ({
  text: `[${LABEL}] Conformance check ${randomUUID()}: nothing is to be done, please answer with one word.`,
  sender: { kind: 'recovery', label: LABEL },
  onlyIfIdle: true,
});

export const newKey = (): string => `conformance-${randomUUID()}`;

export function chatServerApi(url: string, token: string | undefined, timeoutMs: number): ChatServerApi {
  const base = url.endsWith('/') ? url : `${url}/`;
  const call = (path: string, init: RequestInit, bearerToken = token): Promise<Answer> =>
    read(
      fetch(new URL(path, base), {
        ...init,
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
        headers: { ...(init.headers as Record<string, string> | undefined), ...bearer(bearerToken) },
      }),
    );
  return {
    state: (sessionId, other) => call(`sessions/${sessionId}`, {}, other),
    send: (sessionId, key, body = nudgeBody()) =>
      call(`sessions/${sessionId}/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { [IDEMPOTENCY_HEADER]: key }) },
        body: JSON.stringify(body),
      }),
    transcript: (sessionId, range) => call(`sessions/${sessionId}/transcript`, { headers: { range } }),
  };
}

const bearer = (token: string | undefined): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

async function read(response: Promise<Response>): Promise<Answer> {
  const answer = await response;
  const text = Buffer.from(await answer.arrayBuffer()).toString('latin1');
  return { status: answer.status, headers: answer.headers, text, json: object(text) };
}

function object(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(text, 'latin1').toString('utf8'));
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** An answer in a few words, for people. */
export function shown({ status, json, text }: Answer): string {
  const body = json === undefined ? text.slice(0, 80) : JSON.stringify(json).slice(0, 120);
  return body === '' ? String(status) : `${status} ${body}`;
}
