import type { Queue } from 'bullmq';
import express, { type Express } from 'express';
import helmet from 'helmet';
import type { Logger } from '#shared/platform/logger.js';
import type { Metrics } from '#shared/platform/metrics.js';
import type { SessionStore } from '#shared/session/store.js';
import { createAccess } from './access/guard.ts';
import { trustedProxies, underBasePath } from './base-path.ts';
import type { LiveEvents } from './live/live-events.ts';
import type { Stats } from './live/stats.ts';
import type { DeliveryParts } from './deliveries.ts';
import { notFound, problemHandler } from './problems.ts';
import { needsRedis } from './redis-away.ts';
import { requestLog } from './request-log.ts';
import { accessRoutes } from './routes/access.ts';
import { BOARD_PATH, boardRoutes } from './routes/board.ts';
import { docsRoutes } from './routes/docs.ts';
import { eventRoutes } from './routes/events.ts';
import type { HookReceiver } from './hooks/receiver.ts';
import { healthRoutes, type HealthParts } from './routes/health.ts';
import { hookRoutes } from './routes/hooks.ts';
import { loginRoutes } from './routes/login.ts';
import { metricsRoutes } from './routes/metrics.ts';
import { openApiRoutes } from './routes/openapi.ts';
import { noticeRoutes, pageRoutes } from './routes/page.ts';
import { pauseRoutes } from './routes/pause.ts';
import { projectRoutes } from './routes/projects.ts';
import { reasonRoutes } from './routes/reasons.ts';
import { sessionRoutes, type SessionParts } from './routes/sessions.ts';
import { streamRoutes } from './routes/stream.ts';

export interface AppParts extends DeliveryParts, Omit<SessionParts, 'tokens'> {
  logger: Logger;
  metrics: Metrics;
  hooks: HookReceiver;
  health: HealthParts;
  /** For the board. */
  /** The queue that the board shows; asked each time, since one that began badly is replaced. */
  queue: () => Queue;
  live: LiveEvents;
  stats: Stats;
}

/** The watcher's HTTP side, made from its parts; it opens no port. */
export function createApp(parts: AppParts): Express {
  const { core } = parts;
  const access = createAccess(core.settings);
  const app = express();
  app.disable('x-powered-by');
  app.set('query parser', 'simple');
  app.set('trust proxy', trustedProxies(core.settings.trustProxy));
  app.use(requestLog(parts.logger));
  app.use(underBasePath(core.settings.basePath));
  // Between programs: before the headers that protect browsers, and by signature or token of their own, before the guard.
  eventRoutes(app, parts);
  app.use(hookRoutes(parts, parts.hooks));
  app.use(securityHeaders());
  app.use(healthRoutes(parts.health));
  app.use(openApiRoutes());
  app.use(docsRoutes());
  app.use(noticeRoutes());
  app.use(access.chatPages);
  app.use(loginRoutes(access));
  app.use(['/v1', '/metrics'], access.guard);
  app.use('/admin', access.boardGuard);
  app.use(pageRoutes(access.pageGuard));
  app.use(accessRoutes());
  app.use(reasonRoutes());
  app.use(streamRoutes(parts));
  app.use(metricsRoutes(parts.metrics));
  app.use(sessionRoutes({ ...parts, tokens: access.tokens }));
  app.use(pauseRoutes(core));
  app.use(projectRoutes(core));
  app.use(`${BOARD_PATH}/api`, redisThere(core.store));
  app.use(BOARD_PATH, boardRoutes(parts.queue, { write: core.settings.adminBoardWrite }));
  app.use(notFound);
  app.use(problemHandler(parts.logger));
  return app;
}

/** The board's own calls wait for Redis without end. */
function redisThere(store: Pick<SessionStore, 'now'>): express.RequestHandler {
  return async (_req, _res, next) => {
    await needsRedis(() => store.now());
    next();
  };
}

function securityHeaders(): express.RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      directives: {
        'default-src': ["'self'"],
        'style-src': ["'self'", "'unsafe-inline'"],
        'img-src': ["'self'", 'data:'],
        // Plain http on loopback is how it is reached without a proxy.
        'upgrade-insecure-requests': null,
      },
    },
    // TLS, and so this promise about it, is the proxy's in front.
    strictTransportSecurity: false,
  });
}
