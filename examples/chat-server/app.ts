import express, { type Express } from 'express';
import type { Chats } from './chats.ts';
import { conformanceRoute } from './conformance-route.ts';
import { controlRoutes } from './control-routes.ts';
import type { Happenings } from './happenings.ts';
import { notFound, problemHandler, requireToken } from './http.ts';
import { createPageAccess } from './page-access.ts';
import { pageRoutes } from './page-routes.ts';
import { recoveryProxy, type RecoveryTarget } from './recovery-proxy.ts';
import { sessionRoutes } from './session-routes.ts';

export interface AppParts {
  chats: Chats;
  happenings: Happenings;
  token: string | undefined;
  /** Serve the chat page at `/`. */
  page: boolean;
  /** The watcher, for the page's notice. */
  recovery: RecoveryTarget | undefined;
  /** Called with errors that are nobody's fault but ours. */
  log: (error: unknown) => void;
}

/** The HTTP side, from its parts; opens no port. */
export function createApp({ chats, happenings, token, page, recovery, log }: AppParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.get('/healthz', (_request, response) => void response.json({ status: 'ok' }));
  const access = createPageAccess();
  if (page) app.use(pageRoutes(access));
  app.use(requireToken(token, (request) => page && access.letsIn(request)));
  app.use(recoveryProxy(chats, recovery));
  app.use(sessionRoutes(chats));
  app.use(controlRoutes(chats, happenings));
  app.use(conformanceRoute(chats, happenings));
  app.use(notFound);
  app.use(problemHandler(log));
  return app;
}
