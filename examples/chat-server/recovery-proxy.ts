import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Router, type Request, type Response } from 'express';
import { z } from 'zod';
import { Problem } from '../../shared/platform/problem.ts';
import { sessionIdSchema } from '../../shared/session/events.ts';
import type { Chats } from './chats.ts';
import { valid } from './http.ts';

/** The watcher, as this server reaches it. */
export interface RecoveryTarget {
  url: string;
  /** Never leaves this server. */
  token: string | undefined;
}

const pathSchema = z.object({ id: sessionIdSchema });
const querySchema = z.object({ session: sessionIdSchema });

/**
 * What `<chat-recovery-notice src="/recovery">` asks for, passed on to the watcher with this server's own token: three calls, for
 * chats of this server only. So the browser needs no token of the watcher and no leave to call another origin, and the watcher
 * need not be reachable from where users are.
 */
export function recoveryProxy(chats: Chats, target: RecoveryTarget | undefined): Router {
  const router = Router();
  const pass = (request: Request, response: Response, path: string): Promise<void> => {
    if (target === undefined)
      throw new Problem({ status: 404, code: 'no_recovery', detail: 'RECOVERY_URL is not set.' });
    return passOn(target, request, response, path);
  };
  router.get('/recovery/chat-recovery-notice.js', (request, response) =>
    pass(request, response, 'chat-recovery-notice.js'),
  );
  router.get('/recovery/v1/sessions/:id', (request, response) => {
    const { id } = chats.get(valid(pathSchema, request.params, 'path').id, true);
    return pass(request, response, `v1/sessions/${id}`);
  });
  router.post('/recovery/v1/sessions/:id/continue', (request, response) => {
    const { id } = chats.get(valid(pathSchema, request.params, 'path').id);
    return pass(request, response, `v1/sessions/${id}/continue`);
  });
  router.get('/recovery/v1/events/stream', (request, response) => {
    const { id } = chats.get(valid(querySchema, request.query, 'query').session, true);
    return pass(request, response, `v1/events/stream?session=${id}`);
  });
  return router;
}

/** What of an answer is the caller's business. */
const KEPT = ['content-type', 'cache-control', 'retry-after', 'x-accel-buffering'];

async function passOn(
  { url, token }: RecoveryTarget,
  request: Request,
  response: Response,
  path: string,
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const answer = await fetch(new URL(path, url.endsWith('/') ? url : `${url}/`), {
    method: request.method,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    signal: gone.signal,
  }).catch((cause: unknown) => {
    const problem = new Problem({
      status: 502,
      code: 'recovery_unreachable',
      detail: 'The watcher cannot be reached.',
    });
    problem.cause = cause;
    throw problem;
  });
  for (const name of KEPT) {
    const value = answer.headers.get(name);
    if (value !== null) response.set(name, value);
  }
  response.status(answer.status);
  // An event stream is to begin before its first event.
  response.flushHeaders();
  if (answer.body === null) return void response.end();
  // The reader went away, or the watcher did: either way there is nobody left to tell.
  await pipeline(Readable.fromWeb(answer.body), response).catch(() => response.destroy());
}
