import type { Request, RequestHandler } from 'express';
import { Problem } from '#shared/platform/problem.js';

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
  if (fromElsewhere(req)) throw crossSite(req);
  next();
};

/**
 * A browser shows cookies and Basic credentials by itself, also where another site's page makes the request. So what changes
 * something must say that it comes from our own page: browsers send `Sec-Fetch-Site`, older ones at least `Origin`, and no page
 * can forge either.
 */
export function refuseForged(req: Request): void {
  const changes = req.method !== 'GET' && req.method !== 'HEAD';
  const site = req.headers['sec-fetch-site'];
  const proved = site === undefined ? req.headers.origin !== undefined : site === 'same-origin';
  if (fromElsewhere(req) || (changes && !proved)) throw crossSite(req);
}

function fromElsewhere(req: Request): boolean {
  const { origin } = req.headers;
  const site = req.headers['sec-fetch-site'];
  if (site === 'same-origin') return false;
  // `host`: as the proxy in front was asked, where it is trusted.
  const foreign = origin !== undefined && hostOf(origin) !== req.host.toLowerCase();
  return foreign || site === 'cross-site' || site === 'same-site';
}

function crossSite(req: Request): Problem {
  return new Problem({
    status: 403,
    code: 'cross_site',
    field: req.headers['sec-fetch-site'] === undefined ? 'Origin' : 'Sec-Fetch-Site',
    detail: 'Requests that another web page makes are refused.',
  });
}

function hostname(url: string): string {
  return URL.canParse(url) ? new URL(url).hostname : '';
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : '';
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(name);
}
