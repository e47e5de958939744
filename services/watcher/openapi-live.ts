import type { RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { TRAIL_KINDS } from '#shared/trail/reasons.js';
import { EVENT_NAMES } from './live/frames.ts';
import { COUNTED, WINDOWS } from './live/tally.ts';
import { ADMIN, guarded, json, problem, SHARED } from './openapi-parts.ts';
import { text, time } from './openapi-schemas.ts';
import { WORDS } from './routes/reasons.ts';
import { statsQuerySchema, streamQuerySchema } from './routes/stream.ts';

const eventSchema = z
  .object({
    id: text.meta({ description: 'Id in the trail; send it as Last-Event-ID to go on from here.' }),
    event: z.enum(EVENT_NAMES),
    atMs: time,
    sessionId: text,
    server: text,
    project: text,
    kind: z.enum(TRAIL_KINDS),
    text: text.meta({ description: 'The kind in words.' }),
    reason: text.optional(),
    reasonText: text.nullable(),
    detail: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'LiveEvent' });

const counts = Object.fromEntries(COUNTED.map((what) => [what, z.int()]));
const statsSchema = z
  .object({
    window: z.enum(Object.keys(WINDOWS)),
    bucketMs: z.int(),
    incompleteBeforeMs: time.nullable().meta({ description: 'The trail before this has been trimmed.' }),
    totals: z.object(counts),
    buckets: z.array(z.object({ atMs: time, ...counts })),
  })
  .meta({ id: 'Stats' });

const words = z.record(z.string(), z.string());

/** What happens, live; how much of it happened; every code in words. */
export function liveRoutes(): RouteConfig[] {
  const invalid = { 422: problem('`invalid_parameter`.') };
  return [
    {
      method: 'get',
      path: '/v1/events/stream',
      summary: 'What happens, live, as server-sent events',
      description:
        'Ends only when the peer or the watcher does. Resumable on any watcher with `Last-Event-ID` (or `lastEventId`): nothing is missed and nothing told twice; where that cannot be promised a `reset` comes first. A comment every 15 s shows that it lives. `open`, `reset`, `dropped` and `closing` are about the stream itself.',
      ...SHARED,
      request: { query: streamQuerySchema, headers: z.object({ 'Last-Event-ID': z.string().optional() }) },
      responses: {
        200: {
          description: 'Each `data:` is one LiveEvent.',
          content: { 'text/event-stream': { schema: eventSchema } },
        },
        ...invalid,
        ...guarded,
      },
    },
    {
      method: 'get',
      path: '/v1/stats',
      summary: 'Hangs, nudges and recoveries over time',
      ...ADMIN,
      request: { query: statsQuerySchema },
      responses: { 200: json('Buckets, oldest first.', statsSchema), ...invalid, ...guarded },
    },
    {
      method: 'get',
      path: '/v1/reasons',
      summary: 'Every code in words',
      ...ADMIN,
      responses: {
        200: json('By kind of code.', z.object(Object.fromEntries(Object.keys(WORDS).map((kind) => [kind, words])))),
        401: guarded[401],
      },
    },
  ];
}
