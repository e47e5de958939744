import { Router } from 'express';
import { askerOf } from '../access/guard.ts';
import { onlyMethods } from '../problems.ts';

/** `GET /v1/access`: what the asker is taken for, so that a page can offer what it may, and a log-out. */
export function accessRoutes(): Router {
  const router = Router();
  router
    .route('/v1/access')
    .get((_req, res) => {
      const who = askerOf(res);
      res.json({
        role: who.role,
        by: who.role === 'operator' ? who.by : 'token',
        server: who.role === 'operator' ? null : who.serverId,
        sessionId: who.role === 'chat' ? who.sessionId : null,
        loginExpiresMs: who.role === 'operator' ? (who.loginExpiresMs ?? null) : null,
      });
    })
    .all(onlyMethods('GET'));
  return router;
}
