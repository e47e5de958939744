/** Who is asking, as far as it was proved. */
export type Principal =
  /** The operator: by the token, by a login, or because the watcher is open (loopback, without a token). */
  | { role: 'operator'; by: 'token' | 'basic' | 'login' | 'open'; loginExpiresMs?: number }
  /** A chat server, for its own sessions. */
  | { role: 'chat-server'; serverId: string }
  /** The page of one chat, for that chat. */
  | { role: 'chat'; serverId: string; sessionId: string };

/** Whether a session is one that the asker may see at all; for others it is as unknown as one that does not exist. */
export function maySee(who: Principal, session: { sessionId: string; server: string }): boolean {
  if (who.role === 'operator') return true;
  return session.server === who.serverId && (who.role === 'chat-server' || session.sessionId === who.sessionId);
}

/** The chat server and session that an asker is confined to. */
export function confines(who: Principal): { server?: string; sessionId?: string } {
  if (who.role === 'operator') return {};
  return { server: who.serverId, ...(who.role === 'chat' ? { sessionId: who.sessionId } : {}) };
}
