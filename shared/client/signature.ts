import { createHmac } from 'node:crypto';

/**
 * Headers of a signed delivery after Standard Webhooks: HMAC-SHA256 over `id.timestamp.body`.
 *
 * @param secret `whsec_` and base64, or plain text whose bytes are the key; without one the delivery is not signed.
 * @param nowMs the moment of this try: a receiver refuses what was signed long ago.
 */
export function signedHeaders(
  delivery: { id: string; body: string },
  secret: string | undefined,
  nowMs: number,
): Record<string, string> {
  const stamp = String(Math.floor(nowMs / 1_000));
  const headers = { 'webhook-id': delivery.id, 'webhook-timestamp': stamp };
  if (secret === undefined) return headers;
  const signed = createHmac('sha256', keyOf(secret))
    .update(`${delivery.id}.${stamp}.${delivery.body}`)
    .digest('base64');
  return { ...headers, 'webhook-signature': `v1,${signed}` };
}

const keyOf = (secret: string): Buffer =>
  secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret, 'utf8');
