import type { Request, RequestHandler, Response } from 'express';
import { Problem } from '#shared/platform/problem.js';
import type { ProcessSettings } from '#shared/settings/environment.js';
import { prefixOf } from '../base-path.ts';
import { createChatTokens, type ChatTokens } from './chat-tokens.ts';
import { refuseForeignPages, refuseForged } from './foreign.ts';
import { createLogins, type Logins } from './logins.ts';
import type { Principal } from './principal.ts';
import { createGuesses, type Guesses } from './rates.ts';
import { isForChatPages, refuseOutOfScope } from './scope.ts';

/**
 * Who may use the API, the board and the metrics.
 *
 * - The operator: `ADMIN_TOKEN` as bearer (or as the password of HTTP Basic), or a login.
 * - A chat server: its own token, for its own chats; the page of a chat: a short-lived token for that chat.
 * - Without an admin token the watcher listens on loopback only and whoever can connect is the operator, except web pages:
 *   {@link refuseForeignPages}.
 */
export interface Access {
  /** Lets in whoever the route is for; the route finds the asker by {@link askerOf}. */
  guard: RequestHandler;
  /** The same, but sends a browser without a login to the login page. */
  boardGuard: RequestHandler;
  /** For the page's own files: open where the watcher is, since they hold nothing and links from elsewhere may lead to them. */
  pageGuard: RequestHandler;
  /** Answers browsers that ask whether another origin's page may call, and lets chats' pages. */
  chatPages: RequestHandler;
  /** `undefined`: there is no token, so nobody logs in. */
  logins: Logins | undefined;
  tokens: ChatTokens;
}

type AccessSettings = Pick<ProcessSettings, 'adminToken' | 'chatServers' | 'loginTtlMs' | 'sessionTokenTtlMs'>;

export function createAccess(settings: AccessSettings): Access {
  const { adminToken } = settings;
  const doors = {
    logins: adminToken === undefined ? undefined : createLogins(adminToken, settings.loginTtlMs),
    tokens: createChatTokens(settings.chatServers, settings.sessionTokenTtlMs),
    guesses: createGuesses(),
  };
  const guard: RequestHandler = async (req, res, next) => {
    const who = await identify(doors, req, res);
    refuseOutOfScope(who, req.method, `${req.baseUrl}${req.path}`);
    res.locals['asker'] = who;
    next();
  };
  const boardGuard: RequestHandler = async (req, res, next) => {
    const { logins } = doors;
    if (logins !== undefined && wantsLogin(req) && logins.expiryOf(req, Date.now()) === undefined) {
      res.redirect(303, `${prefixOf(req)}/login?next=${encodeURIComponent(`${req.baseUrl}${req.url}`)}`);
      return;
    }
    await guard(req, res, next);
  };
  const pageGuard: RequestHandler = adminToken === undefined ? (_req, _res, next) => next() : boardGuard;
  return { guard, boardGuard, pageGuard, chatPages: corsForChats, logins: doors.logins, tokens: doors.tokens };
}

/** Who asks. Behind the guard only. */
export function askerOf(res: Response): Principal {
  return res.locals['asker'] as Principal;
}

interface Doors {
  logins: Logins | undefined;
  tokens: ChatTokens;
  guesses: Guesses;
}

/** Throws 401 where nothing that counts is shown, 403 for what another site's page makes, 429 for who guesses. */
async function identify(doors: Doors, req: Request, res: Response): Promise<Principal> {
  const { logins } = doors;
  const shown = shownToken(req);
  if (shown !== undefined) {
    const who = await holderOf(doors, req, shown);
    if (who !== undefined) return who;
    if (logins !== undefined) throw unauthorized(res, shown);
  }
  if (logins === undefined) return open(req, res);
  const loginExpiresMs = logins.expiryOf(req, Date.now());
  if (loginExpiresMs === undefined) throw unauthorized(res, undefined);
  refuseForged(req);
  return { role: 'operator', by: 'login', loginExpiresMs };
}

async function holderOf(
  { logins, tokens, guesses }: Doors,
  req: Request,
  shown: Shown,
): Promise<Principal | undefined> {
  await guesses.check(req);
  if (logins?.isToken(shown.token) === true && shown.by !== 'query') {
    if (shown.by === 'basic') refuseForged(req);
    return { role: 'operator', by: shown.by };
  }
  const who = shown.by === 'basic' ? undefined : tokens.whose(shown.token, Date.now());
  // In an address, which may be logged on its way, only what is short-lived and for one chat is taken.
  if (who !== undefined && (shown.by === 'token' || who.role === 'chat')) return who;
  await guesses.wrong(req);
  return undefined;
}

function open(req: Request, res: Response): Principal {
  refuseForeignPages(req, res, () => undefined);
  return { role: 'operator', by: 'open' };
}

interface Shown {
  token: string;
  by: 'token' | 'basic' | 'query';
}

function shownToken(req: Request): Shown | undefined {
  const [scheme = '', value = ''] = (req.headers.authorization ?? '').split(/ +(.*)/s);
  if (scheme.toLowerCase() === 'bearer') return { token: value.trim(), by: 'token' };
  if (scheme.toLowerCase() === 'basic') {
    const credentials = Buffer.from(value, 'base64').toString('utf8');
    return { token: credentials.slice(credentials.indexOf(':') + 1), by: 'basic' };
  }
  // `EventSource` can send no header.
  const { access_token: inAddress } = req.query;
  return typeof inAddress === 'string' && req.method === 'GET' ? { token: inAddress, by: 'query' } : undefined;
}

function unauthorized(res: Response, shown: Shown | undefined): Problem {
  // Not `Basic`: the page's own calls would make the browser ask for a password by a window of its own.
  res.set('www-authenticate', 'Bearer realm="chat-recovery"');
  return new Problem({
    status: 401,
    code: 'unauthorized',
    detail:
      shown === undefined
        ? 'The admin token (Authorization: Bearer) or a login is required.'
        : 'The token is wrong, or its time has run out.',
  });
}

/** A person's browser that shows nothing: not a program, and not one of the page's own calls. */
function wantsLogin(req: Request): boolean {
  const reads = req.method === 'GET' || req.method === 'HEAD';
  return reads && req.headers.authorization === undefined && (req.headers.accept ?? '').includes('text/html');
}

/** No credentials are allowed along: a token in a header is all that another origin's page can use. */
const corsForChats: RequestHandler = (req, res, next) => {
  if (req.headers.origin === undefined || !isForChatPages(req.path)) {
    next();
    return;
  }
  res.set({ 'access-control-allow-origin': '*', 'access-control-expose-headers': 'retry-after' });
  if (req.method !== 'OPTIONS') {
    next();
    return;
  }
  res.set({
    'access-control-allow-methods': 'GET, POST',
    'access-control-allow-headers': 'authorization, content-type, last-event-id',
    'access-control-max-age': '600',
  });
  res.status(204).end();
};
