import { backoffMs } from '#shared/session-api/backoff.js';
import { parseRetryAfter } from '#shared/session-api/failure.js';
import type { Delivery } from './outbox.ts';
import { signedHeaders } from './signature.ts';
import type { WebhookTarget } from './target.ts';

/** What one try came to. */
export type Tried =
  | { kind: 'delivered' | 'refused'; status: number; answer: unknown }
  | { kind: 'again'; status?: number; answer?: unknown; error?: string; waitMs: number };

const TIMEOUT_MS = 10_000;
const MAX_ANSWER_BYTES = 256 * 1024;
/** The event itself is refused: sending it again can never help. Everything else may be mended on the other side. */
const FINAL = new Set([400, 409, 413, 415, 422]);
const BACKOFF = { baseMs: 250, capMs: 30_000, floorMs: 50 };

/** Sends a delivery once. Never throws: whatever is no answer is a reason to try again. */
export async function post(
  target: WebhookTarget,
  delivery: Delivery,
  attempt: number,
  stopped: AbortSignal,
): Promise<Tried> {
  const cut = new AbortController();
  const stop = (): void => cut.abort(new Error('this process ends'));
  const timer = setTimeout(() => cut.abort(new Error(`no complete answer within ${TIMEOUT_MS} ms`)), TIMEOUT_MS);
  stopped.addEventListener('abort', stop, { once: true });
  try {
    const response = await fetch(target.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...signedHeaders(delivery, target.secret, Date.now()) },
      body: delivery.body,
      // A webhook must not wander to another server.
      redirect: 'manual',
      signal: cut.signal,
    });
    const { status } = response;
    const answer = await readJson(response);
    if (status >= 200 && status < 300) return { kind: 'delivered', status, answer };
    if (FINAL.has(status)) return { kind: 'refused', status, answer };
    const asked = parseRetryAfter(response.headers.get('retry-after') ?? undefined, Date.now());
    return { kind: 'again', status, answer, waitMs: backoffMs(attempt, Math.random(), asked, BACKOFF) };
  } catch (error) {
    const waitMs = backoffMs(attempt, Math.random(), undefined, BACKOFF);
    return { kind: 'again', error: describe(error), waitMs };
  } finally {
    clearTimeout(timer);
    stopped.removeEventListener('abort', stop);
  }
}

/** The answer's JSON, or `undefined`: an answer counts by its status, whatever its body is. */
async function readJson(response: Response): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) return undefined;
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** fetch says "fetch failed"; why stands in its cause. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
