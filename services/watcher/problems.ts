import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { Problem } from '#shared/platform/problem.js';
import type { Log } from './ports.ts';

/** Writes a problem document (RFC 9457). */
export function sendProblem(res: Response, problem: Problem): void {
  if (problem.fields.retryAfterS !== undefined) res.set('retry-after', String(problem.fields.retryAfterS));
  res.status(problem.fields.status).type('application/problem+json').send(JSON.stringify(problem));
}

/** For whatever no route took. */
export const notFound: RequestHandler = (req) => {
  throw new Problem({ status: 404, code: 'not_found', detail: `There is nothing at ${req.path}.` });
};

/** For a path that exists, asked in another way than these. */
export function onlyMethods(...methods: string[]): RequestHandler {
  return (req, res) => {
    res.set('allow', methods.join(', '));
    sendProblem(
      res,
      new Problem({
        status: 405,
        code: 'method_not_allowed',
        detail: `${req.method} is not for ${req.path}; ${methods.join(', ')} is.`,
      }),
    );
  };
}

/** What an error is to the caller. */
export const problemOf = (error: unknown): Problem => (error instanceof Problem ? error : fromHttpError(error));

/** The last handler: a {@link Problem} as it is, what the body parsers and the router throw as one; the rest is ours: 500, no internals. */
export function problemHandler(log: Log): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    if (res.headersSent) {
      next(error);
      return;
    }
    const problem = problemOf(error);
    if (problem.fields.status >= 500) {
      const cause = error instanceof Problem ? (error.cause ?? error) : error;
      const fields = { err: cause, code: problem.fields.code, path: req.path, cid: res.locals['cid'] };
      if (problem.fields.status === 500) log.error(fields, 'A request failed.');
      else log.debug(fields, 'A request could not be taken.');
    }
    sendProblem(res, problem);
  };
}

/** Kinds of errors that Express's body parsers name. */
const BODY_ERRORS: Record<string, { status: number; code: string; detail: string }> = {
  'entity.too.large': { status: 413, code: 'body_too_large', detail: 'The body is larger than is taken here.' },
  'entity.parse.failed': { status: 400, code: 'invalid_json', detail: 'The body is not valid JSON.' },
  'encoding.unsupported': {
    status: 415,
    code: 'unsupported_encoding',
    detail: 'The body must come without a content encoding.',
  },
  'charset.unsupported': { status: 415, code: 'unsupported_charset', detail: 'The body must be UTF-8.' },
  'request.aborted': { status: 400, code: 'request_aborted', detail: 'The request ended before its body did.' },
  'request.size.invalid': {
    status: 400,
    code: 'invalid_length',
    detail: 'The body is not as long as content-length says.',
  },
};

function fromHttpError(error: unknown): Problem {
  if (error instanceof Error) {
    const type = 'type' in error && typeof error.type === 'string' ? error.type : '';
    const known = BODY_ERRORS[type];
    if (known !== undefined) return new Problem(known);
    const status = 'status' in error && typeof error.status === 'number' ? error.status : 500;
    if (status >= 400 && status < 500) {
      return new Problem({ status, code: 'bad_request', detail: 'The request could not be understood.' });
    }
  }
  return new Problem({
    status: 500,
    code: 'internal_error',
    detail: 'Something went wrong on our side; the log has it.',
  });
}
