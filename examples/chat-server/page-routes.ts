import { fileURLToPath } from 'node:url';
import express, { Router } from 'express';
import type { PageAccess } from './page-access.ts';

const PUBLIC = fileURLToPath(new URL('public', import.meta.url));
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A small page to chat with, at `/`: shows what a chat's user sees of recovery. */
export function pageRoutes(access: PageAccess): Router {
  const router = Router();
  const headers = {
    'content-security-policy': POLICY,
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
  };
  router.get('/', (request, response) => {
    access.welcome(request, response);
    response.set(headers).sendFile('index.html', { root: PUBLIC, cacheControl: false });
  });
  router.use('/page', express.static(PUBLIC, { index: false, setHeaders: (response) => void response.set(headers) }));
  return router;
}
