import type { Request, Response } from 'express';
import { Problem } from '#shared/platform/problem.js';
import type { ChatServer } from '#shared/settings/environment.js';
import { refuseForeignPages } from '../access/foreign.ts';
import { createGuesses } from '../access/rates.ts';
import { sameText } from '../access/signed.ts';

/** Finds the chat server whose Claude Code sends a hook. Throws 401, 403 or 429; by then nothing of the body was read. */
export type HookSender = (req: Request, res: Response) => Promise<ChatServer>;

/**
 * By its token (`HOOK_TOKEN`, or the chat server's own). Where nothing has a secret (loopback only) whoever can connect counts
 * as the only chat server's, except web pages.
 */
export function hookSenders(servers: readonly ChatServer[]): HookSender {
  const holders = servers.flatMap((server) =>
    [server.hookToken, server.accessToken].flatMap((token) => (token === undefined ? [] : [{ server, token }])),
  );
  const hasSecrets = holders.length > 0 || servers.some(({ webhookSecrets }) => webhookSecrets.length > 0);
  const guesses = createGuesses();

  return async (req, res) => {
    const shown = /^bearer +(\S.*)$/i.exec(req.headers.authorization ?? '')?.[1]?.trim();
    if (shown !== undefined) {
      await guesses.check(req);
      const [holder] = holders.filter(({ token }) => sameText(token, shown));
      if (holder !== undefined) return holder.server;
      if (hasSecrets) {
        await guesses.wrong(req);
        throw unauthorized(res, 'The token is none of a chat server’s (HOOK_TOKEN).');
      }
    }
    const [only, ...others] = servers;
    if (hasSecrets || only === undefined || others.length > 0) {
      throw unauthorized(res, 'A chat server’s HOOK_TOKEN is required (Authorization: Bearer).');
    }
    refuseForeignPages(req, res, () => undefined);
    return only;
  };
}

function unauthorized(res: Response, detail: string): Problem {
  res.set('www-authenticate', 'Bearer realm="chat-recovery"');
  return new Problem({ status: 401, code: 'unauthorized', detail });
}
