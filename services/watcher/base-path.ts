import type { Request, RequestHandler } from 'express';

const PREFIX = /^(?:\/[\w.~-]+)+$/;

/**
 * For a watcher behind a proxy that serves it under a path. A proxy that keeps the path and one that strips it are both right:
 * what is left after this handler is the path without it, and {@link prefixOf} says what links and redirects begin with.
 */
export function underBasePath(basePath: string | undefined): RequestHandler {
  return (req, res, next) => {
    res.locals['prefix'] = forwardedPrefix(req) ?? basePath ?? '';
    if (basePath === undefined) {
      next();
      return;
    }
    const [path = '', query] = req.url.split(/\?(.*)/s);
    if (path === basePath) {
      // Without the last / the page's relative links would lead beside it.
      res.redirect(308, `${basePath}/${query === undefined ? '' : `?${query}`}`);
      return;
    }
    if (path.startsWith(`${basePath}/`)) req.url = req.url.slice(basePath.length);
    next();
  };
}

/** What our paths begin with on the outside; `''` for the root. */
export function prefixOf(req: Request): string {
  return String(req.res?.locals['prefix'] ?? '');
}

/** `X-Forwarded-Prefix`, from a trusted proxy only: it stands in pages, cookies and redirects. */
function forwardedPrefix(req: Request): string | undefined {
  const given = req.headers['x-forwarded-prefix'];
  if (typeof given !== 'string') return undefined;
  const trusts = req.app.get('trust proxy fn') as (address: string, hop: number) => boolean;
  const prefix = given.replace(/\/+$/, '');
  return trusts(req.socket.remoteAddress ?? '', 0) && PREFIX.test(prefix) && !prefix.includes('/..')
    ? prefix
    : undefined;
}

/** The setting as Express takes it: a number of proxies, or their addresses. */
export function trustedProxies(setting: string | undefined): number | string | false {
  if (setting === undefined) return false;
  return /^\d+$/.test(setting) ? Number(setting) : setting;
}
