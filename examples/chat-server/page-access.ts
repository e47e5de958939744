import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Request, Response } from 'express';
import { Problem } from '../../shared/platform/problem.ts';

const COOKIE = 'chat_page';

/**
 * Who may use the chat page. This example has no users, so the page is for whoever sits at this machine: it is served under a
 * loopback name only, and what it asks for is let in by a cookie that other sites' pages cannot send.
 */
export interface PageAccess {
  /** Before the page is sent: gives the browser its cookie. Throws a problem (403) under a name that is not this machine's. */
  welcome(request: Request, response: Response): void;
  /** The request comes from our page. */
  letsIn(request: Request): boolean;
}

export function createPageAccess(): PageAccess {
  const secret = randomBytes(24).toString('base64url');
  return {
    welcome(request, response) {
      if (!isLoopbackName(request.hostname)) {
        throw new Problem({ status: 403, code: 'not_loopback', detail: 'The chat page is for this machine only.' });
      }
      response.cookie(COOKIE, secret, { httpOnly: true, sameSite: 'strict', path: '/' });
    },
    letsIn(request) {
      const shown = new RegExp(`(?:^|; )${COOKIE}=([^;]*)`).exec(request.headers.cookie ?? '')?.[1] ?? '';
      const site = request.get('sec-fetch-site');
      const ours = site === undefined || site === 'same-origin';
      return ours && shown.length === secret.length && timingSafeEqual(Buffer.from(shown), Buffer.from(secret));
    },
  };
}

const isLoopbackName = (name: string): boolean => name === 'localhost' || name === '[::1]' || name.startsWith('127.');
