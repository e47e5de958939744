import { Router, type Request } from 'express';
import { z } from 'zod';
import { Problem } from '#shared/platform/problem.js';
import { sessionIdSchema } from '#shared/session/events.js';
import { SESSION_STATES, type SessionRecord } from '#shared/session/record.js';
import type { SessionQuery } from '#shared/session/store.js';
import { continueSession, type ContinueParts } from '../continue.ts';
import { checked } from '../check.ts';
import { onlyMethods } from '../problems.ts';
import { needsRedis } from '../redis-away.ts';
import { reasonText, sessionDetails, sessionView } from '../session-view.ts';
import type { Transcripts } from '../transcripts.ts';

/** Filters and paging of `GET /v1/sessions`. */
export const sessionQuerySchema = z.object({
  server: z.string().min(1).max(200).optional(),
  project: z.string().max(200).optional(),
  state: z.enum(SESSION_STATES).optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the "next" of the page before')
    .optional(),
});

export interface SessionParts extends ContinueParts {
  transcripts: Transcripts;
}

/** Sessions: list, one in full with its trail, Continue, the end of its watch. */
export function sessionRoutes(parts: SessionParts): Router {
  const { store, recovery, settings } = parts.core;
  const router = Router();

  router
    .route('/v1/sessions')
    .get(async (req, res) => {
      const query = checked(sessionQuerySchema, req.query);
      const page = await needsRedis(() => store.list(storeQuery(query)));
      res.json({ sessions: page.sessions.map(sessionView), next: page.next ?? null });
    })
    .all(onlyMethods('GET'));

  router
    .route('/v1/sessions/:id')
    .get(async (req, res) => {
      const id = sessionId(req);
      const [record, trail] = await needsRedis(() => Promise.all([store.find(id), store.trail(id)]));
      if (record === undefined) throw unknownSession(id);
      const server = settings.chatServers.find((candidate) => candidate.id === record.server);
      const effective = server === undefined ? undefined : await recovery.effective(server, record.project);
      const lines = trail.map((line) => ({ ...line, reasonText: reasonText(line.reason) }));
      res.json({ ...viewOf(record, effective), trail: lines });
    })
    .all(onlyMethods('GET'));

  router
    .route('/v1/sessions/:id/continue')
    .post(async (req, res) => {
      const id = sessionId(req);
      const record = await needsRedis(() => store.find(id));
      if (record === undefined) throw unknownSession(id);
      res.json(await continueSession(parts, record, String(res.locals['cid'])));
    })
    .all(onlyMethods('POST'));

  router
    .route('/v1/sessions/:id/watch')
    .delete(async (req, res) => {
      const id = sessionId(req);
      if (!(await needsRedis(() => store.endWatch(id, 'watch-ended')))) throw unknownSession(id);
      parts.transcripts.end(id);
      res.status(204).end();
    })
    .all(onlyMethods('DELETE'));

  return router;
}

function viewOf(record: SessionRecord, effective: Parameters<typeof sessionDetails>[1] | undefined) {
  if (effective !== undefined) return sessionDetails(record, effective);
  const removed = { allowed: false, code: 'server_unknown', reason: 'Its chat server is no longer in the settings.' };
  return {
    ...sessionView(record),
    actions: { continue: removed, endWatch: { allowed: record.armed } },
    settings: null,
  };
}

function storeQuery({ limit, ...filters }: z.output<typeof sessionQuerySchema>): SessionQuery {
  const { server, project, state, cursor } = filters;
  return {
    limit,
    ...(server === undefined ? {} : { server }),
    // A root workspace has the empty slug; `~root` stands for it where an empty value cannot.
    ...(project === undefined ? {} : { project: project === '~root' ? '' : project }),
    ...(state === undefined ? {} : { state }),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

function sessionId(req: Request): string {
  const parsed = sessionIdSchema.safeParse(req.params['id']);
  if (parsed.success) return parsed.data;
  throw new Problem({
    status: 422,
    code: 'invalid_session_id',
    field: 'id',
    detail: 'The session id in the path must be a UUID.',
  });
}

function unknownSession(id: string): Problem {
  return new Problem({
    status: 404,
    code: 'session_unknown',
    field: 'id',
    detail: `Nothing is known of session ${id}.`,
  });
}
