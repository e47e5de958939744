import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Request, RequestHandler, Response } from 'express';
import type { Logger } from '#shared/platform/logger.js';

/**
 * One line per request, without headers and bodies (they carry tokens and people's text), under one correlation id: the
 * delivery's `webhook-id`, else a new one. Routes find it in `res.locals.cid`; jobs and trail carry it on.
 *
 * Written here and not with pino-http, which makes a logger for each request even where nothing is logged: a fifth of what
 * a delivery costs this process.
 */
export function requestLog(logger: Logger): RequestHandler {
  return (req, res, next) => {
    const cid = correlationId(req);
    const startedMs = performance.now();
    res.locals['cid'] = cid;
    res.once('close', () => {
      const level = levelOf(res.statusCode);
      if (logger.isLevelEnabled(level)) logger[level](lineOf(req, res, cid, startedMs), wordOf(res));
    });
    next();
  };
}

function lineOf({ method, originalUrl }: Request, { statusCode }: Response, reqId: string, startedMs: number): object {
  return {
    reqId,
    req: { method, path: originalUrl.split('?')[0] },
    res: { statusCode },
    responseTime: Math.round(performance.now() - startedMs),
  };
}

const wordOf = (res: Response): string => (res.writableFinished ? 'Answered.' : 'The caller went away.');

function correlationId(req: IncomingMessage): string {
  const given = req.headers['webhook-id'];
  return typeof given === 'string' && /^[\x21-\x7e]{1,255}$/.test(given) ? given : randomUUID();
}

/** Failures of ours and of Redis are seen at the usual level; a healthy stream of deliveries and probes is not. */
function levelOf(status: number): 'error' | 'warn' | 'info' | 'debug' {
  if (status === 500) return 'error';
  if (status > 500) return 'warn';
  return status >= 400 ? 'info' : 'debug';
}
