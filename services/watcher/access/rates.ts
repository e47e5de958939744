import type { Request, RequestHandler } from 'express';
import { ipKeyGenerator, MemoryStore, rateLimit, type Options } from 'express-rate-limit';
import { Problem } from '#shared/platform/problem.js';

/**
 * How often one address may try. Counted in each process by itself: a limit against guessing and against floods need not be
 * exact, must hold without Redis, and must cost a delivery no Redis call. With several watchers the limits add up.
 */

const MINUTE_MS = 60_000;
export const LOGIN_TRIES = 10;
const LOGIN_WINDOW_MS = 15 * MINUTE_MS;
export const WRONG_TOKENS = 60;

/** Failed logins only; one that succeeds is not counted. */
export const limitLogins = (): RequestHandler =>
  limited('login', { windowMs: LOGIN_WINDOW_MS, limit: LOGIN_TRIES, skipSuccessfulRequests: true });

/** All deliveries; what is over the limit is to be sent again, so nothing is lost. */
export function limitDeliveries(perMinute: number): RequestHandler {
  if (perMinute === 0) return (_req, _res, next) => next();
  // The library's store without its middleware: a key, headers and options for each delivery, none of which is used here.
  const store = minuteStore();
  return async (req, _res, next) => {
    const { totalHits, resetTime } = await store.increment(addressOf(req));
    if (totalHits > perMinute) throw tooMany('deliveries', resetTime);
    next();
  };
}

function minuteStore(): MemoryStore {
  const store = new MemoryStore();
  store.init({ windowMs: MINUTE_MS } as Options);
  return store;
}

/** Counts wrong tokens; past {@link WRONG_TOKENS} in a minute no token of that address is looked at until the minute is over. */
export interface Guesses {
  /** Throws 429 where the address has had its share. */
  check(req: Request): Promise<void>;
  wrong(req: Request): Promise<void>;
}

export function createGuesses(): Guesses {
  const store = minuteStore();
  return {
    async check(req) {
      const known = await store.get(addressOf(req));
      if (known !== undefined && known.totalHits >= WRONG_TOKENS) throw tooMany('tokens', known.resetTime);
    },
    async wrong(req) {
      await store.increment(addressOf(req));
    },
  };
}

function limited(what: string, options: Partial<Options>): RequestHandler {
  return rateLimit({
    ...options,
    keyGenerator: addressOf,
    // Its advice goes to the console; what it warns of (a proxy that is not declared) is documented at TRUST_PROXY.
    validate: false,
    legacyHeaders: false,
    handler: (req) => {
      const { resetTime } = (req as Request & { rateLimit?: { resetTime?: Date } }).rateLimit ?? {};
      throw tooMany(what, resetTime);
    },
  });
}

/** One IPv6 customer has a whole network of addresses: they count as one. */
const addressOf = (req: Request): string => ipKeyGenerator(req.ip ?? '');

function tooMany(what: string, resetTime: Date | undefined): Problem {
  const waitMs = (resetTime?.getTime() ?? 0) - Date.now();
  return new Problem({
    status: 429,
    code: 'too_many_requests',
    detail: `Too many ${what} from this address; try again later.`,
    retryAfterS: Math.max(1, Math.ceil(waitMs / 1_000)),
  });
}
