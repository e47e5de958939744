import express, { Router, type Request, type Response } from 'express';
import {
  IDEMPOTENCY_HEADER,
  idempotencyKeySchema,
  messageRequestSchema,
  sessionParamsSchema,
} from '../../shared/session-api/contract.ts';
import type { Chats } from './chats.ts';
import { valid } from './http.ts';
import { sendTranscript } from './transcript-route.ts';

/** The session API: what recovery needs of this server, and nothing more. */
export function sessionRoutes(chats: Chats): Router {
  const router = Router();
  router.get('/sessions/:id', (request: Request, response: Response) => {
    const chat = chats.get(idOf(request), true);
    if (chat.record.closed === 'deleted') chats.get(chat.id);
    response.json({
      state: chat.state,
      queuedFollowUp: chat.record.queued !== undefined,
      project: chat.record.project,
      transcriptPath: chat.record.transcriptPath,
    });
  });

  router.post(
    '/sessions/:id/messages',
    express.json({ limit: '256kb' }),
    async (request: Request, response: Response) => {
      const id = idOf(request);
      const key = valid(idempotencyKeySchema, request.get(IDEMPOTENCY_HEADER), IDEMPOTENCY_HEADER);
      const message = valid(messageRequestSchema, request.body, 'body');
      response.status(202).json(await chats.deliver(id, key, message));
    },
  );

  router.get('/sessions/:id/transcript', async (request: Request, response: Response) => {
    await sendTranscript(chats.get(idOf(request), true).record.transcriptPath, request, response);
  });
  return router;
}

const idOf = (request: Request): string => valid(sessionParamsSchema, request.params, 'path').id;
