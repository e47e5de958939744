import express, { type Express } from 'express';
import type { Chats } from './chats.ts';
import { controlRoutes } from './control-routes.ts';
import type { Happenings } from './happenings.ts';
import { notFound, problemHandler, requireToken } from './http.ts';
import { sessionRoutes } from './session-routes.ts';

export interface AppParts {
  chats: Chats;
  happenings: Happenings;
  token: string | undefined;
  /** Called with errors that are nobody's fault but ours. */
  log: (error: unknown) => void;
}

/** The HTTP side, from its parts; opens no port. */
export function createApp({ chats, happenings, token, log }: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  app.use(requireToken(token));
  app.use(sessionRoutes(chats));
  app.use(controlRoutes(chats, happenings));
  app.use(notFound);
  app.use(problemHandler(log));
  return app;
}
