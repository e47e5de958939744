import express, { Router, type Request, type Response } from 'express';
import { z } from 'zod';
import { sessionIdSchema } from '../../shared/session/events.ts';
import type { Chat } from './chat.ts';
import type { Chats } from './chats.ts';
import type { Happenings } from './happenings.ts';
import { valid } from './http.ts';

const requestSchema = z.union([
  z.object({ make: z.enum(['idle', 'running', 'waiting', 'queued', 'closed']) }),
  z.object({ finish: sessionIdSchema }),
]);

/** A turn that nobody ends by itself: the kit's `finish` does. */
const ENDLESS = { replyMs: 3_600_000 };

/**
 * `POST /conformance`, for `chat-recovery conformance --setup`: gets chats into states, and ends the turn that runs. For
 * scripted chats; no part of the session API.
 */
export function conformanceRoute(chats: Chats, happenings: Happenings): Router {
  const router = Router();
  router.post('/conformance', express.json(), async (request: Request, response: Response) => {
    const asked = valid(requestSchema, request.body, 'body');
    if ('finish' in asked) {
      await chats.get(asked.finish).interrupt();
      return void response.json({});
    }
    const chat = asked.make === 'waiting' ? await waiting(chats, happenings) : await endless(chats);
    if (asked.make !== 'running' && asked.make !== 'waiting') await chat.interrupt();
    if (asked.make === 'queued') chat.queue('And then this.', true);
    if (asked.make === 'closed') await chat.end('deleted');
    response.status(201).json({ sessionId: chat.id });
    return undefined;
  });
  return router;
}

const endless = (chats: Chats): Promise<Chat> =>
  chats.create({ project: 'conformance', prompt: 'Please wait.', script: 'plain', timings: ENDLESS });

async function waiting(chats: Chats, happenings: Happenings): Promise<Chat> {
  const timings = { replyMs: 0, killMs: 3_600_000 };
  const chat = await chats.create({ project: 'conformance', prompt: 'Please ask.', script: 'waiting', timings });
  await happenings.wait(({ sessionId, kind }) => sessionId === chat.id && kind === 'turn.ended');
  return chat;
}
