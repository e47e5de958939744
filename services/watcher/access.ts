import { createHash, timingSafeEqual } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { Problem } from '#shared/platform/problem.js';

/**
 * Who may use the API, the board and the metrics.
 *
 * With a token: whoever shows it (bearer, or HTTP Basic with it as the password, for a browser). Without one the watcher listens
 * on loopback only, and there a web page in the operator's browser must not be able to steer it: {@link refuseForeignPages}.
 */
export function adminOnly(adminToken: string | undefined): RequestHandler {
  if (adminToken === undefined) return refuseForeignPages;
  const wanted = digest(adminToken);
  return (req, res, next) => {
    const shown = shownToken(req);
    // Digests have one length whatever was shown, so that the comparison takes one time.
    if (shown !== undefined && timingSafeEqual(digest(shown), wanted)) {
      next();
      return;
    }
    res.set('www-authenticate', 'Basic realm="chat-recovery", charset="UTF-8", Bearer realm="chat-recovery"');
    throw new Problem({
      status: 401,
      code: 'unauthorized',
      detail:
        shown === undefined ? 'The admin token is required (Authorization: Bearer).' : 'The admin token is wrong.',
    });
  };
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function shownToken(req: Request): string | undefined {
  const [scheme = '', value = ''] = (req.headers.authorization ?? '').split(/ +(.*)/s);
  if (scheme.toLowerCase() === 'bearer') return value.trim();
  if (scheme.toLowerCase() !== 'basic') return undefined;
  const credentials = Buffer.from(value, 'base64').toString('utf8');
  return credentials.includes(':') ? credentials.slice(credentials.indexOf(':') + 1) : undefined;
}

/**
 * For an open loopback listener (SPEC §6): the `Host` must be a loopback name (a page that resolves its own name to 127.0.0.1
 * sends another), and a cross-site `Origin` or `Sec-Fetch-Site` is refused.
 */
export const refuseForeignPages: RequestHandler = (req, _res, next) => {
  if (!isLoopbackName(hostname(`http://${req.headers.host ?? ''}`))) {
    throw new Problem({
      status: 403,
      code: 'host_not_loopback',
      field: 'Host',
      detail: 'Without an admin token and secrets only requests to a loopback name are taken.',
    });
  }
  const { origin } = req.headers;
  const site = req.headers['sec-fetch-site'];
  const foreignOrigin = origin !== undefined && hostOf(origin) !== req.headers.host?.toLowerCase();
  if (foreignOrigin || site === 'cross-site' || site === 'same-site') {
    throw new Problem({
      status: 403,
      code: 'cross_site',
      field: foreignOrigin ? 'Origin' : 'Sec-Fetch-Site',
      detail: 'Requests that another web page makes are refused.',
    });
  }
  next();
};

function hostname(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : '';
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(name);
}
