import { OpenAPIRegistry, OpenApiGeneratorV31, type RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { lifecycleEventSchema } from '#shared/session/events.js';
import { recoverySchema } from '#shared/settings/recovery.js';
import {
  answerSchema,
  continueSchema,
  effectiveSchema,
  pageSchema,
  readinessSchema,
  sessionDetailsSchema,
} from './openapi-schemas.ts';
import { liveRoutes } from './openapi-live.ts';
import { hookRoutes } from './openapi-hooks.ts';
import { accessRoutes, registerSecurity } from './openapi-access.ts';
import { ADMIN, guarded, json, problem, SERVER, SHARED, unavailable } from './openapi-parts.ts';
import { pauseBodySchema } from './routes/pause.ts';
import { sessionQuerySchema } from './routes/sessions.ts';

/** The OpenAPI 3.1 document of the watcher, made from the schemas that its routes check with. */
export function watcherOpenApi(): Record<string, unknown> {
  const registry = new OpenAPIRegistry();
  registerSecurity(registry);
  const routes = [
    ...publicRoutes(),
    ...hookRoutes(),
    ...sessionRoutes(),
    ...liveRoutes(),
    ...accessRoutes(),
    ...operatorRoutes(),
  ];
  for (const route of routes) registry.registerPath(route);
  const document = new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Chat recovery watcher',
      version: '1.0.0',
      description:
        'Takes the lifecycle webhooks of chat servers and shows what became of each watched chat. Errors are problem documents (RFC 9457) whose `code` is stable.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
  });
  return { ...document };
}

/** The document as the file holds it. */
export const watcherOpenApiText = (): string => `${JSON.stringify(watcherOpenApi(), null, 2)}\n`;

/** As it stands on the wire: a stamp is text there, not a number. */
function eventSchema(): object {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(lifecycleEventSchema, { io: 'input' });
  return schema;
}

function publicRoutes(): RouteConfig[] {
  return [
    {
      method: 'post',
      path: '/v1/events',
      summary: 'A lifecycle webhook of a chat server',
      security: [{ webhook: [] }],
      request: {
        body: {
          required: true,
          content: { 'application/json': { schema: eventSchema() } },
        },
      },
      responses: {
        202: json('Safe in Redis; says what was armed and why.', answerSchema),
        400: problem('`invalid_header`, `invalid_json`.'),
        401: problem('`invalid_signature`, `timestamp_out_of_tolerance`, `signature_required`.'),
        403: problem('`host_not_loopback`, `cross_site`: without secrets, from another web page.'),
        409: problem('`session_owned_by_other_server`.'),
        413: problem('`body_too_large`: 256 KB are taken.'),
        415: problem('`unsupported_media_type`, `unsupported_encoding`.'),
        429: problem('`too_many_requests`: send it again after `Retry-After`.'),
        422: problem('`unknown_type`, `invalid_event`, `timestamp_ahead`, `transcript_path_outside_roots`.'),
        ...unavailable,
      },
    },
    {
      method: 'get',
      path: '/healthz',
      summary: 'Liveness of the process',
      responses: { 200: json('It runs.', z.object({ status: z.literal('ok') })) },
    },
    {
      method: 'get',
      path: '/readyz',
      summary: 'Readiness, part by part',
      responses: {
        200: json('Ready. A session API that is down holds up only its own recoveries.', readinessSchema),
        503: json(
          'Redis is away, no worker is alive, due jobs lie still, or the process is stopping. Deliveries are taken all the same where Redis is there.',
          readinessSchema,
        ),
      },
    },
    {
      method: 'get',
      path: '/openapi.json',
      summary: 'This document',
      responses: {
        200: { description: 'OpenAPI 3.1.', content: { 'application/json': { schema: { type: 'object' } } } },
      },
    },
  ];
}

const sessionParams = z.object({ id: z.string().meta({ format: 'uuid', description: 'Claude Code’s session id.' }) });
const unknownSession = { 404: problem('`session_unknown`.'), 422: problem('`invalid_session_id`.') };

function sessionRoutes(): RouteConfig[] {
  return [
    {
      method: 'get',
      path: '/v1/sessions',
      summary: 'Known sessions, newest change first',
      ...SERVER,
      request: { query: sessionQuerySchema },
      responses: { 200: json('A page.', pageSchema), 422: problem('`invalid_parameter`.'), ...guarded },
    },
    {
      method: 'get',
      path: '/v1/sessions/{id}',
      summary: 'One session: state, notice, counters, what is allowed now, settings, trail',
      ...SHARED,
      request: { params: sessionParams },
      responses: { 200: json('The session.', sessionDetailsSchema), ...unknownSession, ...guarded },
    },
    {
      method: 'post',
      path: '/v1/sessions/{id}/continue',
      summary: 'Nudge it now, by hand',
      ...SHARED,
      request: { params: sessionParams },
      responses: {
        200: json('What became of it.', continueSchema),
        409: problem('`busy` or `not_hung`; `reason` says why.'),
        502: problem('`part` failed: `session-api` or `worker`.'),
        504: problem('`part` stayed silent: `worker`, `session-api` or `redis`.'),
        ...unknownSession,
        ...guarded,
        403: problem('`surface_off`: showing killed tasks is off for the project. `out_of_scope`, `cross_site`.'),
      },
    },
    {
      method: 'delete',
      path: '/v1/sessions/{id}/watch',
      summary: 'End this chat’s watch; pending work is void',
      ...ADMIN,
      request: { params: sessionParams },
      responses: { 204: { description: 'Ended.' }, ...unknownSession, ...guarded },
    },
  ];
}

const projectRequest = {
  params: z.object({ slug: z.string().meta({ description: 'The project; `~root` is the root workspace.' }) }),
  query: z.object({
    server: z.string().optional().meta({ description: 'Which chat server, where several are served.' }),
  }),
};
const projectProblems = {
  400: problem('`server_required`.'),
  404: problem('`server_unknown`, `project_unknown`.'),
  422: problem('`invalid_slug`, `invalid_setting`.'),
  ...guarded,
};
const changed = {
  200: json('Override and effective settings.', effectiveSchema),
  409: problem('`project_file_invalid`.'),
};

function operatorRoutes(): RouteConfig[] {
  const paused = json('How it stands now.', z.object({ paused: z.boolean() }));
  const pauseBody = { body: { content: { 'application/json': { schema: pauseBodySchema } } } };
  const change = z.object(
    Object.fromEntries(
      Object.keys(recoverySchema.shape).map((key) => [
        key,
        z.union([z.boolean(), z.int().min(0), z.null()]).optional(),
      ]),
    ),
  );
  const recovery = '/v1/projects/{slug}/recovery';
  return [
    {
      method: 'get',
      path: '/v1/pause',
      summary: 'Whether recovery is paused',
      ...ADMIN,
      responses: { 200: paused, ...guarded },
    },
    {
      method: 'post',
      path: '/v1/pause',
      summary: 'Hold all automatic nudges',
      ...ADMIN,
      request: pauseBody,
      responses: { 200: paused, ...guarded },
    },
    {
      method: 'post',
      path: '/v1/resume',
      summary: 'Let them go on',
      ...ADMIN,
      request: pauseBody,
      responses: { 200: paused, ...guarded },
    },
    {
      method: 'get',
      path: recovery,
      summary: 'Recovery settings of a project, and where each value comes from',
      ...ADMIN,
      request: projectRequest,
      responses: { 200: changed[200], ...projectProblems },
    },
    {
      method: 'patch',
      path: recovery,
      summary: 'Change the project’s own values; null removes one',
      ...ADMIN,
      request: { ...projectRequest, body: { required: true, content: { 'application/json': { schema: change } } } },
      responses: { ...changed, ...projectProblems },
    },
    {
      method: 'delete',
      path: recovery,
      summary: 'Back to the instance’s values',
      ...ADMIN,
      request: projectRequest,
      responses: { ...changed, ...projectProblems },
    },
    {
      method: 'get',
      path: '/metrics',
      summary: 'Prometheus metrics',
      ...ADMIN,
      responses: { 200: { description: 'Text format.' }, 401: guarded[401] },
    },
  ];
}
