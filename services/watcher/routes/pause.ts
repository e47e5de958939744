import express, { Router } from 'express';
import { z } from 'zod';
import { checked } from '../check.ts';
import { onlyMethods } from '../problems.ts';
import type { WatcherCore } from '../ports.ts';
import { needsRedis } from '../redis-away.ts';

/** Who asks, for the trail; without a body it is the operator. */
export const pauseBodySchema = z
  .object({ by: z.string().trim().min(1).max(100).default('operator') })
  .default({ by: 'operator' });

/** The off switch: holds all automatic nudges at once, queued ones too. */
export function pauseRoutes({ store }: Pick<WatcherCore, 'store'>): Router {
  const router = Router();
  const json = express.json({ limit: '16kb' });

  router
    .route('/v1/pause')
    .get(async (_req, res) => {
      const { paused, by, sinceMs } = await needsRedis(() => store.paused());
      res.json({ paused, by: by ?? null, sinceMs: sinceMs ?? null });
    })
    .post(json, async (req, res) => {
      const { by } = checked(pauseBodySchema, req.body);
      await needsRedis(() => store.pause(by));
      res.json({ paused: true });
    })
    .all(onlyMethods('GET', 'POST'));
  router
    .route('/v1/resume')
    .post(json, async (req, res) => {
      const { by } = checked(pauseBodySchema, req.body);
      await needsRedis(() => store.resume(by));
      res.json({ paused: false });
    })
    .all(onlyMethods('POST'));
  return router;
}
