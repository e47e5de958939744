import { fileURLToPath } from 'node:url';
import express, { Router, type RequestHandler } from 'express';
import { onlyMethods } from '../problems.ts';

/** Static files, beside the sources here and copied beside what is built. */
export const PUBLIC = fileURLToPath(new URL('../public', import.meta.url));
const NOTICE = 'chat-recovery-notice.js';

/**
 * Stricter than the rest: the page has no inline script or style, asks nobody but its own watcher, cannot be framed, and cannot
 * make markup from text (Trusted Types), whatever a transcript holds.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Files change with the program only: an ETag makes asking again cheap, and no update is ever half old. */
const REVALIDATE = 'no-cache';

/** `GET /chat-recovery-notice.js`: code that other sites' pages load; it holds nothing of anybody's, so it is open to all. */
export function noticeRoutes(): Router {
  const router = Router();
  router
    .route(`/${NOTICE}`)
    .get((_req, res) => {
      res.set({
        'access-control-allow-origin': '*',
        'cross-origin-resource-policy': 'cross-origin',
        'cache-control': REVALIDATE,
      });
      res.sendFile(NOTICE, { root: PUBLIC, cacheControl: false });
    })
    .all(onlyMethods('GET', 'HEAD'));
  return router;
}

export const PAGE_HEADERS = { 'content-security-policy': PAGE_POLICY, 'cache-control': REVALIDATE };

const headers: RequestHandler = (_req, res, next) => {
  res.set(PAGE_HEADERS);
  next();
};

/** The page at `/` and its files below `/page`. `guard` lets in those who may see it. */
export function pageRoutes(guard: RequestHandler): Router {
  const router = Router();
  router
    .route('/')
    .get(guard, headers, (_req, res) => {
      res.sendFile('page/index.html', { root: PUBLIC, cacheControl: false });
    })
    .all(onlyMethods('GET', 'HEAD'));
  router.use(
    '/page',
    guard,
    headers,
    express.static(`${PUBLIC}/page`, { index: false, redirect: false, cacheControl: false }),
  );
  return router;
}
