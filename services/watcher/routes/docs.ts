import express, { Router } from 'express';
import { onlyMethods } from '../problems.ts';
import { PAGE_HEADERS, PUBLIC } from './page.ts';

/** `GET /docs`: the contract for people, made of `/openapi.json` in the browser. Open, like the contract: it holds nothing else. */
export function docsRoutes(): Router {
  const router = Router();
  router
    .route('/docs')
    .get((_req, res) => {
      res.set(PAGE_HEADERS).sendFile('docs/index.html', { root: PUBLIC, cacheControl: false });
    })
    .all(onlyMethods('GET', 'HEAD'));
  router.use(
    '/docs',
    (_req, res, next) => {
      res.set(PAGE_HEADERS);
      next();
    },
    express.static(`${PUBLIC}/docs`, { index: false, redirect: false, cacheControl: false }),
  );
  return router;
}
