import { createHmac, timingSafeEqual } from 'node:crypto';

/**
 * Standard Webhooks signatures (https://www.standardwebhooks.com): HMAC-SHA256 over `id.timestamp.body`, the body as the
 * raw bytes that arrived.
 *
 * A deployment serves several chat servers, each with several secrets (rotation). The secret that verifies says who sent it.
 */

/** One secret, ready to be used, and whose it is. */
export interface SigningKey {
  serverId: string;
  key: Buffer;
}

/** What the three headers say. */
export interface SignedHeaders {
  id: string;
  /** Whole seconds since the epoch, as it stood in the header: the signature covers the text, not the number. */
  timestamp: string;
  /** Space separated list of `version,base64`. */
  signature: string;
}

/** `whsec_` and base64, or any other text, whose UTF-8 bytes are then the key. */
export function decodeSecret(secret: string): Buffer {
  return secret.startsWith('whsec_')
    ? Buffer.from(secret.slice('whsec_'.length), 'base64')
    : Buffer.from(secret, 'utf8');
}

/** Keys of all chat servers, in the settings' order. */
export function signingKeys(servers: readonly { id: string; webhookSecrets: readonly string[] }[]): SigningKey[] {
  return servers.flatMap((server) =>
    server.webhookSecrets.map((secret) => ({ serverId: server.id, key: decodeSecret(secret) })),
  );
}

/**
 * The id of the chat server whose secret made one of the signatures, or `undefined`.
 *
 * Every key is tried against every signature whatever matched before, so that the time taken tells nothing about which one did.
 */
export function verifySender(keys: readonly SigningKey[], headers: SignedHeaders, body: Buffer): string | undefined {
  const offered = offeredSignatures(headers.signature);
  let sender: string | undefined;
  for (const { serverId, key } of keys) {
    const wanted = createHmac('sha256', key).update(`${headers.id}.${headers.timestamp}.`).update(body).digest();
    for (const given of offered) {
      if (timingSafeEqual(wanted, given)) sender ??= serverId;
    }
  }
  return sender;
}

/** At most this many signatures of one delivery are looked at: rotation needs two, work per request stays bounded. */
const MAX_SIGNATURES = 16;

/** The `v1` signatures of the list that can be right at all (32 bytes); other versions are for other verifiers. */
function offeredSignatures(list: string): Buffer[] {
  return list
    .split(' ')
    .filter((item) => item.startsWith('v1,'))
    .slice(0, MAX_SIGNATURES)
    .map((item) => Buffer.from(item.slice('v1,'.length), 'base64'))
    .filter((bytes) => bytes.length === 32);
}

/** Epoch milliseconds of a `webhook-timestamp`, or `undefined` where it is no whole number of seconds. */
export function parseSignedTime(timestamp: string): number | undefined {
  return /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1_000 : undefined;
}
