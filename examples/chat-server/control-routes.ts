import express, { Router, type Request, type Response } from 'express';
import { z } from 'zod';
import { CLOSE_REASONS, projectSlugSchema, sessionIdSchema } from '../../shared/session/events.ts';
import { sessionParamsSchema } from '../../shared/session-api/contract.ts';
import type { Chat } from './chat.ts';
import type { Chats } from './chats.ts';
import { unknownTask } from './errors.ts';
import type { Happenings } from './happenings.ts';
import { valid } from './http.ts';
import { messagesOf } from './messages.ts';
import { DEFAULT_TIMINGS, isScript, SCRIPTS } from './scripts.ts';

const text = z.string().min(1).max(100_000);
const newChatSchema = z.object({
  project: projectSlugSchema.default('demo'),
  prompt: text.default('Please build the project.'),
  script: z.string().refine(isScript, 'no such script').optional(),
  timings: z
    .record(z.string(), z.number().min(0).max(3_600_000))
    .refine((timings) => Object.keys(timings).every((name) => name in DEFAULT_TIMINGS), 'no such timing')
    .default({}),
  sessionId: sessionIdSchema.optional(),
});
const killSchema = z.object({ by: z.enum(['runtime', 'user']).default('runtime') });
const endSchema = z.object({ reason: z.enum(CLOSE_REASONS).default('deleted') });

/** What people, demos and tests do with chats: no part of the session API. */
export function controlRoutes(chats: Chats, happenings: Happenings): Router {
  const router = Router();
  router.use('/chats', express.json({ limit: '256kb' }));
  const chatOf = (request: Request): Chat => chats.get(valid(sessionParamsSchema, request.params, 'path').id);

  router.get('/chats', (_request: Request, response: Response) => {
    response.json({ chats: chats.all().map((chat) => summary(chat)) });
  });
  router.post('/chats', async (request: Request, response: Response) => {
    const chat = await chats.create(valid(newChatSchema, request.body ?? {}, 'body'));
    response.status(201).json(summary(chat));
  });
  router.get('/chats/:id', (request: Request, response: Response) => {
    const { id } = valid(sessionParamsSchema, request.params, 'path');
    response.json({ ...summary(chats.get(id, true)), happenings: happenings.past(id) });
  });
  router.get('/chats/:id/messages', (request: Request, response: Response) => {
    const { id } = valid(sessionParamsSchema, request.params, 'path');
    response.json({ messages: messagesOf(chats.get(id, true).record.transcriptPath) });
  });
  router.get('/scripts', (_request: Request, response: Response) => {
    response.json({ scripts: Object.keys(SCRIPTS) });
  });
  router.post('/chats/:id/messages', async (request: Request, response: Response) => {
    const body = valid(z.object({ text }), request.body, 'body');
    response.status(202).json(await chatOf(request).say(body.text));
  });
  router.post('/chats/:id/queue', (request: Request, response: Response) => {
    const body = valid(z.object({ text, hold: z.boolean().default(false) }), request.body, 'body');
    chatOf(request).queue(body.text, body.hold);
    response.status(202).json({ queued: true });
  });
  router.delete('/chats/:id/queue', (request: Request, response: Response) => {
    chatOf(request).clearQueue();
    response.status(204).end();
  });
  router.post('/chats/:id/stop', async (request: Request, response: Response) => {
    await chatOf(request).interrupt();
    response.status(202).json({});
  });
  router.post('/chats/:id/tasks/:taskId/kill', async (request: Request, response: Response) => {
    const taskId = String(request.params['taskId']);
    const { by } = valid(killSchema, request.query, 'query');
    if (!(await chatOf(request).kill(taskId, by))) throw unknownTask(taskId);
    response.status(202).json({ taskId, by });
  });
  router.delete('/chats/:id', async (request: Request, response: Response) => {
    await chatOf(request).end(valid(endSchema, request.query, 'query').reason);
    response.status(204).end();
  });
  router.get('/chats/:id/events', (request: Request, response: Response) => {
    const { id } = chats.get(valid(sessionParamsSchema, request.params, 'path').id, true);
    stream(id, happenings, response);
  });
  return router;
}

function summary(chat: Chat) {
  const { sessionId, project, cwd, transcriptPath, script, closed } = chat.record;
  return { sessionId, project, cwd, transcriptPath, script, closed, state: chat.state, tasks: chat.tasks };
}

/** Server-sent events: what has happened, then what happens. */
function stream(id: string, happenings: Happenings, response: Response): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
  const send = (happening: { kind: string; sessionId: string }): void => {
    if (happening.sessionId !== id) return;
    response.write(`event: ${happening.kind}\ndata: ${JSON.stringify(happening)}\n\n`);
  };
  for (const happening of happenings.past(id)) send(happening);
  response.on('close', happenings.listen(send));
}
