import { createHash } from 'node:crypto';
import express, { Router, type Request, type Response } from 'express';
import { z } from 'zod';
import { Problem } from '#shared/platform/problem.js';
import { refuseForged } from '../access/foreign.ts';
import type { Access } from '../access/guard.ts';
import { limitLogins } from '../access/rates.ts';
import { prefixOf } from '../base-path.ts';
import { onlyMethods } from '../problems.ts';
import { LOGIN_STYLE, loginPage } from './login-page.ts';

const formSchema = z.object({ token: z.string().max(4_096).default(''), next: z.string().max(2_000).default('/') });

const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(LOGIN_STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

/** `/login` (a form that works without scripts) and `/logout`. Without an admin token there is nothing to log in to. */
export function loginRoutes({ logins }: Pick<Access, 'logins'>): Router {
  const router = Router();
  if (logins === undefined) {
    router.get('/login', (req, res) => res.redirect(303, `${prefixOf(req)}/`));
    return router;
  }

  router
    .route('/login')
    .get((req, res) => {
      show(res, { next: safeNext(req.query['next']), wrong: false });
    })
    .post(limitLogins(), express.urlencoded({ extended: false, limit: '8kb' }), (req, res) => {
      refuseForged(req);
      const { token, next } = formOf(req.body);
      if (!logins.isToken(token)) {
        show(res.status(401), { next: safeNext(next), wrong: true });
        return;
      }
      const { name, value, options } = logins.cookie(Date.now(), context(req));
      res.cookie(name, value, options);
      res.redirect(303, `${prefixOf(req)}${safeNext(next)}`);
    })
    .all(onlyMethods('GET', 'POST'));

  router
    .route('/logout')
    .post((req, res) => {
      refuseForged(req);
      const { name, options } = logins.clearing(context(req));
      res.clearCookie(name, options);
      res.redirect(303, `${prefixOf(req)}/login`);
    })
    .all(onlyMethods('POST'));
  return router;
}

/** `secure` is what a trusted proxy says of its own peer. */
const context = (req: Request) => ({ secure: req.secure, prefix: prefixOf(req) });

function show(res: Response, view: Parameters<typeof loginPage>[0]): void {
  res.set({ 'content-security-policy': POLICY, 'cache-control': 'no-store' }).type('html').send(loginPage(view));
}

function formOf(body: unknown): z.output<typeof formSchema> {
  const parsed = formSchema.safeParse(body ?? {});
  if (parsed.success) return parsed.data;
  throw new Problem({ status: 422, code: 'invalid_form', detail: 'The form must hold "token" and may hold "next".' });
}

/** Only a path of ours is led to: `//host` and `/\host` are other sites to a browser. */
export function safeNext(given: unknown): string {
  const fits = typeof given === 'string' && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(given);
  return fits && !given.startsWith('/login') ? given : '/';
}
