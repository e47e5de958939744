import { Router, type Request } from 'express';
import { z } from 'zod';
import { Problem } from '#shared/platform/problem.js';
import { sessionIdSchema } from '#shared/session/events.js';
import { SESSION_STATES, type SessionRecord } from '#shared/session/record.js';
import { settingsField } from '#shared/session/keys.js';
import type { SessionQuery, SessionStore } from '#shared/session/store.js';
import type { EffectiveSettings } from '#shared/settings/recovery.js';
import { TRAIL_WORDS } from '#shared/trail/words.js';
import { askerOf } from '../access/guard.ts';
import { confines, maySee, type Principal } from '../access/principal.ts';
import type { ChatTokens } from '../access/chat-tokens.ts';
import { continueSession, type ContinueParts } from '../continue.ts';
import { checked } from '../check.ts';
import { onlyMethods } from '../problems.ts';
import { needsRedis } from '../redis-away.ts';
import { actionsOf, reasonText, sessionDetails, sessionView } from '../session-view.ts';
import type { Transcripts } from '../transcripts.ts';

/** Filters and paging of `GET /v1/sessions`. */
export const sessionQuerySchema = z.object({
  server: z.string().min(1).max(200).optional(),
  project: z.string().max(200).optional(),
  state: z.enum(SESSION_STATES).optional(),
  /** These only, separated by commas; what is not known is left out. */
  ids: z
    .string()
    .transform((list) => list.split(','))
    .pipe(z.array(sessionIdSchema).min(1).max(100))
    .optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the "next" of the page before')
    .optional(),
});

export interface SessionParts extends ContinueParts {
  transcripts: Transcripts;
  tokens: ChatTokens;
}

type ListQuery = z.output<typeof sessionQuerySchema>;

/** Sessions: list, one in full with its trail, Continue, the end of its watch. */
export function sessionRoutes(parts: SessionParts): Router {
  const { store, recovery, settings } = parts.core;
  const router = Router();

  router
    .route('/v1/sessions')
    .get(async (req, res) => {
      const who = askerOf(res);
      const query = { ...checked(sessionQuerySchema, req.query), ...confines(who) };
      const page = await needsRedis(() => pageOf(store, query, who));
      res.json({ sessions: await listed(parts.core, page.sessions), next: page.next ?? null });
    })
    .all(onlyMethods('GET'));

  router
    .route('/v1/sessions/:id')
    .get(async (req, res) => {
      const id = sessionId(req);
      const [record, trail] = await needsRedis(() => Promise.all([store.find(id), store.trail(id)]));
      const who = askerOf(res);
      if (record === undefined || !maySee(who, record)) throw unknownSession(id);
      const server = settings.chatServers.find((candidate) => candidate.id === record.server);
      const effective = server === undefined ? undefined : await recovery.effective(server, record.project);
      const lines = trail.map((line) => ({
        ...line,
        text: TRAIL_WORDS[line.kind],
        reasonText: reasonText(line.reason),
      }));
      // Where files lie on the host is nothing for a chat's page.
      const kept = who.role === 'chat' ? { path: null } : {};
      res.json({ ...viewOf(record, effective), ...kept, trail: lines });
    })
    .all(onlyMethods('GET'));

  router
    .route('/v1/sessions/:id/continue')
    .post(async (req, res) => {
      const id = sessionId(req);
      const record = await needsRedis(() => store.find(id));
      if (record === undefined || !maySee(askerOf(res), record)) throw unknownSession(id);
      res.json(await continueSession(parts, record, String(res.locals['cid'])));
    })
    .all(onlyMethods('POST'));

  router
    .route('/v1/sessions/:id/token')
    .post(async (req, res) => {
      const id = sessionId(req);
      const record = await needsRedis(() => store.find(id));
      if (record === undefined || !maySee(askerOf(res), record)) throw unknownSession(id);
      const minted = parts.tokens.mint(record, Date.now());
      if (minted === undefined) throw noServerToken();
      res
        .status(201)
        .set('cache-control', 'no-store')
        .json({ sessionId: id, ...minted });
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

async function pageOf(store: Pick<SessionStore, 'find' | 'list'>, query: ListQuery, who: Principal) {
  if (query.ids === undefined) return store.list(storeQuery(query));
  const found = await Promise.all(query.ids.map((id) => store.find(id)));
  const sessions = found.filter((record) => record !== undefined).filter((record) => maySee(who, record));
  return { sessions, next: undefined };
}

/** Sessions as a list shows them: with what may be done, but each project's settings are asked for once only. */
async function listed({ recovery, settings }: ListParts, records: readonly SessionRecord[]) {
  const known = new Map<string, Promise<EffectiveSettings>>();
  const settingsOf = (record: SessionRecord): Promise<EffectiveSettings> | undefined => {
    const server = settings.chatServers.find((candidate) => candidate.id === record.server);
    if (server === undefined) return undefined;
    const key = settingsField(server.id, record.project);
    const effective = known.get(key) ?? recovery.effective(server, record.project);
    known.set(key, effective);
    return effective;
  };
  return Promise.all(
    records.map(async (record) => {
      const effective = await settingsOf(record);
      const actions = effective === undefined ? removedActions(record) : actionsOf(record, effective.values);
      return { ...sessionView(record), actions };
    }),
  );
}

type ListParts = Pick<SessionParts['core'], 'recovery' | 'settings'>;

/** For a session whose chat server is no longer in the settings. */
function removedActions(record: SessionRecord) {
  const removed = { allowed: false, code: 'server_unknown', reason: 'Its chat server is no longer in the settings.' };
  return { continue: removed, endWatch: { allowed: record.armed } };
}

function viewOf(record: SessionRecord, effective: Parameters<typeof sessionDetails>[1] | undefined) {
  if (effective !== undefined) return sessionDetails(record, effective);
  return { ...sessionView(record), actions: removedActions(record), settings: null };
}

function storeQuery({ limit, ...filters }: ListQuery): SessionQuery {
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

function noServerToken(): Problem {
  return new Problem({
    status: 409,
    code: 'no_server_token',
    detail: 'Tokens for single chats are made with the chat server’s own: set CHAT_SERVER_TOKEN (accessToken).',
  });
}
