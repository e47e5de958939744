import type { CookieOptions, Request } from 'express';
import { createSigner, sameText } from './signed.ts';

const COOKIE = 'chat_recovery_login';

/** Logins of the operator's browser: a signed cookie that no script and no other site's page can use. */
export interface Logins {
  /** Whether it is the admin token. */
  isToken(text: string): boolean;
  cookie(nowMs: number, request: CookieContext): { name: string; value: string; options: CookieOptions };
  clearing(request: CookieContext): { name: string; options: CookieOptions };
  /** When the login that a request shows ends; `undefined`: it shows none that counts. */
  expiryOf(req: Request, nowMs: number): number | undefined;
}

export interface CookieContext {
  /** The browser speaks TLS (to us, or to a trusted proxy). */
  secure: boolean;
  /** Path that the watcher is served under; `''`: the root. */
  prefix: string;
}

export function createLogins(adminToken: string, ttlMs: number): Logins {
  const signer = createSigner(adminToken, 'login');
  return {
    isToken: (text) => sameText(text, adminToken),
    cookie: (nowMs, context) => ({
      name: COOKIE,
      value: signer.sign({}, nowMs + ttlMs),
      options: { ...optionsFor(context), maxAge: ttlMs },
    }),
    clearing: (context) => ({ name: COOKIE, options: optionsFor(context) }),
    expiryOf(req, nowMs) {
      // Several of one name may come: of another path, or set by a neighbour. Any that is ours counts.
      const shown = cookiesNamed(COOKIE, req.headers.cookie ?? '').slice(0, 4);
      return shown.map((value) => signer.verify(value, nowMs)?.expiresMs).find((expiry) => expiry !== undefined);
    },
  };
}

function cookiesNamed(name: string, header: string): string[] {
  return header
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
}

const optionsFor = ({ secure, prefix }: CookieContext): CookieOptions => ({
  httpOnly: true,
  sameSite: 'strict',
  secure,
  path: prefix === '' ? '/' : prefix,
});
