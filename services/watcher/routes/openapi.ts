import { Router } from 'express';
import { watcherOpenApi } from '../openapi.ts';
import { onlyMethods } from '../problems.ts';

/** `GET /openapi.json`: the contract, made once. */
export function openApiRoutes(): Router {
  const router = Router();
  const document = JSON.stringify(watcherOpenApi());
  router
    .route('/openapi.json')
    .get((_req, res) => {
      res.type('application/json').send(document);
    })
    .all(onlyMethods('GET', 'HEAD'));
  return router;
}
