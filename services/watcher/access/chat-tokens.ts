import type { ChatServer } from '#shared/settings/environment.js';
import { createSigner, sameText, type Signer } from './signed.ts';
import type { Principal } from './principal.ts';

/** Says in a log or a bug report what it is. */
const PREFIX = 'crs_';

/** Tokens of chat servers, and the short-lived ones for single chats that are made with them. */
export interface ChatTokens {
  /** Who shows this token; `undefined`: nobody that is known, or its time has run out. */
  whose(token: string, nowMs: number): Principal | undefined;
  /** A token for the page of one chat; `undefined`: its chat server has no token of its own to make it with. */
  mint(session: { sessionId: string; server: string }, nowMs: number): { token: string; expiresMs: number } | undefined;
}

export function createChatTokens(servers: readonly ChatServer[], ttlMs: number): ChatTokens {
  const holders = servers.flatMap(({ id, accessToken }) =>
    accessToken === undefined ? [] : [{ id, accessToken, signer: createSigner(accessToken, 'chat') }],
  );
  const signers = new Map<string, Signer>(holders.map(({ id, signer }) => [id, signer]));
  return {
    whose(token, nowMs) {
      if (!token.startsWith(PREFIX)) return serverOf(holders, token);
      for (const { id, signer } of holders) {
        const sessionId = signer.verify(token.slice(PREFIX.length), nowMs)?.claims['sessionId'];
        if (sessionId !== undefined) return { role: 'chat', serverId: id, sessionId };
      }
      return undefined;
    },
    mint({ sessionId, server }, nowMs) {
      const expiresMs = nowMs + ttlMs;
      const signed = signers.get(server)?.sign({ sessionId }, expiresMs);
      return signed === undefined ? undefined : { token: `${PREFIX}${signed}`, expiresMs };
    },
  };
}

/** Every token is compared, so that the time taken does not tell which one matched. */
function serverOf(holders: readonly { id: string; accessToken: string }[], token: string): Principal | undefined {
  const matching = holders.filter(({ accessToken }) => sameText(accessToken, token));
  return matching[0] === undefined ? undefined : { role: 'chat-server', serverId: matching[0].id };
}
