import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { z } from 'zod';
import { Problem } from '../../shared/platform/problem.ts';

/**
 * Answers 401 without the token, but for requests that are let in otherwise; lets everybody in where there is no token (the server
 * then listens on loopback only).
 */
export function requireToken(token: string | undefined, letsIn: (request: Request) => boolean): RequestHandler {
  const wanted = token === undefined ? undefined : digest(`Bearer ${token}`);
  return (request, _response, next) => {
    if (wanted === undefined || letsIn(request) || timingSafeEqual(digest(request.headers.authorization ?? ''), wanted))
      return next();
    throw new Problem({ status: 401, code: 'unauthorized', detail: 'The bearer token is missing or wrong.' });
  };
}

/** Of equal length whatever the input: the comparison tells nothing about the token. */
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** The parsed value, or 400 naming the field. */
export function valid<T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const field = [where, ...(issue?.path ?? [])].join('.');
  throw new Problem({
    status: 400,
    code: 'invalid_request',
    detail: `${field}: ${issue?.message ?? 'invalid'}`,
    field,
  });
}

export const notFound: RequestHandler = (request) => {
  throw new Problem({
    status: 404,
    code: 'no_such_route',
    detail: `There is nothing at ${request.method} ${request.path}.`,
  });
};

/** Problems as they are, what Express found wrong with its own status, everything else as a bare 500. */
export function problemHandler(log: (error: unknown) => void): ErrorRequestHandler {
  return (error: unknown, _request, response, next) => {
    if (response.headersSent) return next(error);
    const problem = asProblem(error);
    if (problem.fields.status >= 500) log(error);
    if (problem.fields.retryAfterS !== undefined) response.set('Retry-After', String(problem.fields.retryAfterS));
    response.status(problem.fields.status).type('application/problem+json').send(JSON.stringify(problem));
  };
}

function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const status = typeof error === 'object' && error !== null && 'status' in error ? Number(error.status) : 500;
  if (status >= 400 && status < 500) {
    return new Problem({
      status,
      code: 'invalid_request',
      detail: error instanceof Error ? error.message : 'Bad request.',
    });
  }
  return new Problem({ status: 500, code: 'internal_error', detail: 'The chat server failed; its log says why.' });
}
