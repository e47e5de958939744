import { Router } from 'express';
import { z } from 'zod';
import { sessionIdSchema } from '#shared/session/events.js';
import type { LiveFilter } from '#shared/trail/live-events.js';
import { isStreamId } from '#shared/trail/stream-id.js';
import { askerOf } from '../access/guard.ts';
import { confines } from '../access/principal.ts';
import { checked } from '../check.ts';
import type { LiveEvents } from '../live/live-events.ts';
import type { Stats } from '../live/stats.ts';
import { WINDOWS, type WindowName } from '../live/tally.ts';
import { onlyMethods } from '../problems.ts';

const streamId = z.string().refine(isStreamId, 'must be the id of an event');

/** Filters of `GET /v1/events/stream`, and the last id where a header cannot be sent. */
export const streamQuerySchema = z.object({
  server: z.string().min(1).max(200).optional(),
  project: z.string().max(200).optional(),
  session: sessionIdSchema.optional(),
  lastEventId: streamId.optional(),
});

const windowNames = Object.keys(WINDOWS) as [WindowName, ...WindowName[]];
export const statsQuerySchema = z.object({ window: z.enum(windowNames).default('24h') });

/** What happens, live; and how much of it happened lately. */
export function streamRoutes({ live, stats }: { live: LiveEvents; stats: Stats }): Router {
  const router = Router();
  router
    .route('/v1/events/stream')
    .get(async (req, res) => {
      const { lastEventId, ...query } = checked(streamQuerySchema, req.query);
      const header = req.get('last-event-id');
      const shown =
        header === undefined || header === '' ? undefined : checked(headerSchema, { 'Last-Event-ID': header });
      const filter = { ...filterOf(query), ...confines(askerOf(res)) };
      await live.attach(res, filter, shown?.['Last-Event-ID'] ?? lastEventId);
    })
    .all(onlyMethods('GET'));

  router
    .route('/v1/stats')
    .get(async (req, res) => {
      res.json(await stats.over(checked(statsQuerySchema, req.query).window));
    })
    .all(onlyMethods('GET'));
  return router;
}

const headerSchema = z.object({ 'Last-Event-ID': streamId });

function filterOf({ server, project, session }: Omit<z.output<typeof streamQuerySchema>, 'lastEventId'>): LiveFilter {
  return {
    ...(server === undefined ? {} : { server }),
    ...(project === undefined ? {} : { project: project === '~root' ? '' : project }),
    ...(session === undefined ? {} : { sessionId: session }),
  };
}
