import { Router } from 'express';
import type { Metrics } from '#shared/platform/metrics.js';
import { onlyMethods } from '../problems.ts';

/** `GET /metrics` in Prometheus' text format. Gauges that cost a Redis call are refreshed by the sweep, not here. */
export function metricsRoutes({ registry }: Pick<Metrics, 'registry'>): Router {
  const router = Router();
  router
    .route('/metrics')
    .get(async (_req, res) => {
      res.set('content-type', registry.contentType).send(await registry.metrics());
    })
    .all(onlyMethods('GET'));
  return router;
}
