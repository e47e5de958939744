import { Router } from 'express';
import { recoveryShape } from '#shared/settings/recovery.js';
import { metaOf } from '#shared/settings/setting.js';
import { DECISION_REASONS, DELIVERY_REASONS } from '#shared/trail/reasons.js';
import { TRAIL_WORDS } from '#shared/trail/words.js';
import { REASONS } from '#shared/transcript/finding.js';
import { onlyMethods } from '../problems.ts';

/** Every code that the API can answer, with its words, so that a page needs none of its own. */
export const WORDS = {
  decisions: DECISION_REASONS,
  deliveries: DELIVERY_REASONS,
  verdicts: REASONS,
  trail: TRAIL_WORDS,
  settings: Object.fromEntries(Object.entries(recoveryShape).map(([key, schema]) => [key, metaOf(schema).doc])),
};

export function reasonRoutes(): Router {
  const router = Router();
  router
    .route('/v1/reasons')
    .get((_req, res) => {
      res.json(WORDS);
    })
    .all(onlyMethods('GET'));
  return router;
}
