import { signedHeaders } from '#shared/client/signature.js';
import type { DueNotice } from './outbox.ts';
import { NOTICE_TYPES } from './types.ts';

export interface Receiver {
  url: string;
  secret: string;
  timeoutMs?: number;
}

/** What a try came to; `code` is for logs and never holds the address. */
export type Posted = { kind: 'taken' } | { kind: 'gone' } | { kind: 'again'; code: string };

const TIMEOUT_MS = 10_000;

/** Sends one notice, signed after Standard Webhooks. Never throws: whatever is no 2xx is tried again, but for 410. */
export async function postNotice(receiver: Receiver, item: DueNotice, stopped: AbortSignal): Promise<Posted> {
  const timestamp = new Date(item.atMs).toISOString();
  const body = JSON.stringify({ type: item.type, timestamp, data: { text: NOTICE_TYPES[item.type], ...item.data } });
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(receiver.timeoutMs ?? TIMEOUT_MS)]);
  try {
    const answer = await fetch(receiver.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...signedHeaders({ id: item.id, body }, receiver.secret, Date.now()),
      },
      body,
      // It must not wander to another server.
      redirect: 'manual',
      signal,
    });
    // The body is nobody's business; left unread it would hold the connection.
    await answer.body?.cancel();
    if (answer.ok) return { kind: 'taken' };
    return answer.status === 410 ? { kind: 'gone' } : { kind: 'again', code: `answered ${answer.status}` };
  } catch (error) {
    return { kind: 'again', code: codeOf(error) };
  }
}

/** fetch says "fetch failed"; why stands in its cause. The message may hold the address, so only codes and names are told. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const cause = error.cause instanceof Error ? (error.cause as NodeJS.ErrnoException) : undefined;
  return cause?.code ?? error.name;
}
