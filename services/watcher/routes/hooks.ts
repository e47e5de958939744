import express, { Router, type ErrorRequestHandler, type RequestHandler, type Response } from 'express';
import { Problem } from '#shared/platform/problem.js';
import type { ChatServer } from '#shared/settings/environment.js';
import { limitDeliveries } from '../access/rates.ts';
import { hookSenders } from '../hooks/senders.ts';
import type { HookReceiver } from '../hooks/receiver.ts';
import type { WatcherCore } from '../ports.ts';
import { onlyMethods } from '../problems.ts';

/** A pasted prompt may be large. */
const MAX_BODY_BYTES = 16 * 1024 * 1024;

/**
 * `POST /v1/hooks/claude-code`: Claude Code's own hooks.
 *
 * Whoever shows the right token is answered 200 `{}` at once, whatever was sent and whether or not Redis is there: a hook that
 * waits holds the chat up, one that fails shows its user an error, and anything more than `{}` could steer the model.
 */
export function hookRoutes({ core }: { core: WatcherCore }, receiver: HookReceiver): Router {
  const { chatServers, webhookRateLimit } = core.settings;
  const senderOf = hookSenders(chatServers);

  const identify: RequestHandler = async (req, res, next) => {
    res.locals['server'] = await senderOf(req, res);
    next();
  };
  const take: RequestHandler = (req, res) => {
    answer(res);
    const body: unknown = req.body;
    const cid = String(res.locals['cid']);
    const server = res.locals['server'] as ChatServer;
    receiver.take({ server, body: Buffer.isBuffer(body) ? body : Buffer.alloc(0), cid });
  };
  /** Only who it is may be refused. A body that is too large or torn is left alone. */
  const answerAnyway: ErrorRequestHandler = (error: unknown, _req, res, next) => {
    if (error instanceof Problem || res.headersSent) {
      next(error);
      return;
    }
    core.count('hooks_total', { event: 'none', outcome: 'refused' });
    answer(res);
  };

  const router = Router();
  router
    .route('/v1/hooks/claude-code')
    .post(
      limitDeliveries(webhookRateLimit),
      identify,
      express.raw({ type: () => true, limit: MAX_BODY_BYTES }),
      take,
      answerAnyway,
    )
    .all(onlyMethods('POST'));
  return router;
}

const answer = (res: Response): void => void res.json({});
