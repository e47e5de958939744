import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { RequestHandler } from 'express';
import { pinoHttp } from 'pino-http';
import type { Logger } from '#shared/platform/logger.js';

/**
 * One line per request, without headers and bodies (they carry tokens and people's text), under one correlation id: the
 * delivery's `webhook-id`, else a new one. Routes find it in `res.locals.cid`; jobs and trail carry it on.
 */
export function requestLog(logger: Logger): RequestHandler {
  const log = pinoHttp({
    logger,
    genReqId: (req) => correlationId(req),
    quietReqLogger: true,
    customLogLevel: (_req, res, error) => levelOf(res.statusCode, error),
    customSuccessMessage: () => 'Answered.',
    customErrorMessage: () => 'Answered.',
    serializers: {
      req: ({ method, url }: { method: string; url: string }) => ({ method, path: url.split('?')[0] }),
      res: ({ statusCode }: { statusCode: number }) => ({ statusCode }),
    },
  });
  return (req, res, next) => {
    log(req, res);
    res.locals['cid'] = typeof req.id === 'string' ? req.id : randomUUID();
    next();
  };
}

function correlationId(req: IncomingMessage): string {
  const given = req.headers['webhook-id'];
  return typeof given === 'string' && /^[\x21-\x7e]{1,255}$/.test(given) ? given : randomUUID();
}

/** Failures of ours and of Redis are seen at the usual level; a healthy stream of deliveries and probes is not. */
function levelOf(status: number, error: Error | undefined): 'error' | 'warn' | 'info' | 'debug' {
  if (error !== undefined || status === 500) return 'error';
  if (status > 500) return 'warn';
  return status >= 400 ? 'info' : 'debug';
}
