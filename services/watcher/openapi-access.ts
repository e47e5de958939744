import type { OpenAPIRegistry, RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { guarded, json, problem, SHARED, SERVER } from './openapi-parts.ts';
import { text, time } from './openapi-schemas.ts';

/** How askers are let in, for the document. */
export function registerSecurity(registry: OpenAPIRegistry): void {
  registry.registerComponent('securitySchemes', 'admin', {
    type: 'http',
    scheme: 'bearer',
    description: 'ADMIN_TOKEN. Without one the watcher listens on loopback only, and asks for none.',
  });
  registry.registerComponent('securitySchemes', 'login', {
    type: 'apiKey',
    in: 'cookie',
    name: 'chat_recovery_login',
    description:
      'A login by `/login`. What changes something must come from our own page (`Sec-Fetch-Site: same-origin`, or our `Origin`).',
  });
  registry.registerComponent('securitySchemes', 'chatServer', {
    type: 'http',
    scheme: 'bearer',
    description: 'CHAT_SERVER_TOKEN (`accessToken` of a chat server): its own sessions, read and continue.',
  });
  registry.registerComponent('securitySchemes', 'chat', {
    type: 'http',
    scheme: 'bearer',
    description: 'A short-lived token for one chat, for its page; made by `POST /v1/sessions/{id}/token`.',
  });
  registry.registerComponent('securitySchemes', 'hook', {
    type: 'http',
    scheme: 'bearer',
    description:
      'HOOK_TOKEN (`hookToken` of a chat server), or its own token. Where nothing has a secret, none is asked for.',
  });
  registry.registerComponent('securitySchemes', 'webhook', {
    type: 'apiKey',
    in: 'header',
    name: 'webhook-signature',
    description: 'Standard Webhooks: webhook-id, webhook-timestamp and webhook-signature over the raw body.',
  });
}

const accessSchema = z
  .object({
    role: z.enum(['operator', 'chat-server', 'chat']),
    by: z.enum(['token', 'basic', 'login', 'open']).meta({ description: '`open`: loopback without a token.' }),
    server: text.nullable(),
    sessionId: text.nullable(),
    loginExpiresMs: time.nullable(),
  })
  .meta({ id: 'Access' });

const mintedSchema = z.object({ sessionId: text, token: text, expiresMs: time }).meta({ id: 'ChatToken' });

const form = z.object({ token: z.string(), next: z.string().optional() });

export function accessRoutes(): RouteConfig[] {
  return [
    {
      method: 'get',
      path: '/login',
      summary: 'The login form',
      responses: { 200: { description: 'A page.' }, 303: { description: 'No token is set: to the page.' } },
    },
    {
      method: 'post',
      path: '/login',
      summary: 'Log in with the admin token',
      request: { body: { required: true, content: { 'application/x-www-form-urlencoded': { schema: form } } } },
      responses: {
        303: { description: 'Logged in: a cookie, and on to `next`.' },
        401: { description: 'The form again: that is not the token.' },
        403: problem('`cross_site`.'),
        422: problem('`invalid_form`.'),
        429: problem('`too_many_requests`: 10 failed logins of one address in 15 minutes.'),
      },
    },
    {
      method: 'post',
      path: '/logout',
      summary: 'Forget the login in this browser',
      responses: { 303: { description: 'To the login form.' }, 403: problem('`cross_site`.') },
    },
    {
      method: 'get',
      path: '/v1/access',
      summary: 'What the asker is taken for',
      ...SHARED,
      responses: { 200: json('Who.', accessSchema), ...guarded },
    },
    {
      method: 'post',
      path: '/v1/sessions/{id}/token',
      summary: 'A short-lived token for the page of one chat',
      ...SERVER,
      request: { params: z.object({ id: z.uuid() }) },
      responses: {
        201: json('Minted.', mintedSchema),
        404: problem('`session_unknown`: also where it is another chat server’s.'),
        409: problem('`no_server_token`: its chat server has no token of its own.'),
        422: problem('`invalid_session_id`.'),
        ...guarded,
      },
    },
  ];
}
