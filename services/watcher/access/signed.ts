import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/**
 * Values that we sign and somebody else keeps: a login in a cookie, a token for one chat.
 *
 * `<base64url of JSON>.<base64url of HMAC-SHA256>`. The key is derived from a secret of the settings, so every watcher of a
 * deployment takes what another one signed, nothing is stored, and a new secret ends all that was signed with the old one.
 */
export interface Signer {
  sign(claims: Record<string, string>, expiresMs: number): string;
  /** The claims, where the signature is ours and the time has not run out. */
  verify(value: string, nowMs: number): { claims: Record<string, string>; expiresMs: number } | undefined;
}

/** @param purpose keeps what was signed for one thing from being taken for another */
export function createSigner(secret: string, purpose: string): Signer {
  const key = createHmac('sha256', secret).update(`chat-recovery/${purpose}/1`).digest();
  const mac = (text: string): string => createHmac('sha256', key).update(text).digest('base64url');
  return {
    sign(claims, expiresMs) {
      const nonce = randomBytes(9).toString('base64url');
      const text = Buffer.from(JSON.stringify({ ...claims, expiresMs, nonce })).toString('base64url');
      return `${text}.${mac(text)}`;
    },
    verify(value, nowMs) {
      const [text = '', given = '', ...more] = value.split('.');
      if (more.length > 0 || !sameText(given, mac(text))) return undefined;
      // Ours from here on: nobody else could have signed it.
      const {
        expiresMs,
        nonce: _nonce,
        ...claims
      } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8')) as {
        expiresMs: number;
        nonce: string;
      } & Record<string, string>;
      return nowMs < expiresMs ? { claims, expiresMs } : undefined;
    },
  };
}

/** Compares in a time that tells nothing: digests have one length, whatever was shown. */
export function sameText(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
