import { Problem } from '#shared/platform/problem.js';
import type { Principal } from './principal.ts';

/** Whom besides the operator a route is for. What stands nowhere here is the operator's alone. */
const SHARED: readonly { method: string; path: RegExp; roles: readonly Principal['role'][] }[] = [
  { method: 'GET', path: /^\/v1\/sessions\/?$/i, roles: ['chat-server'] },
  { method: 'GET', path: /^\/v1\/sessions\/[^/]+\/?$/i, roles: ['chat-server', 'chat'] },
  { method: 'POST', path: /^\/v1\/sessions\/[^/]+\/continue\/?$/i, roles: ['chat-server', 'chat'] },
  { method: 'POST', path: /^\/v1\/sessions\/[^/]+\/token\/?$/i, roles: ['chat-server'] },
  { method: 'GET', path: /^\/v1\/events\/stream\/?$/i, roles: ['chat-server', 'chat'] },
  { method: 'GET', path: /^\/v1\/access\/?$/i, roles: ['chat-server', 'chat'] },
];

/** Throws 403 where the route is not for this asker. Which sessions it may see is the route's to check (`maySee`). */
export function refuseOutOfScope(who: Principal, method: string, path: string): void {
  if (who.role === 'operator') return;
  const asked = method === 'HEAD' ? 'GET' : method;
  if (SHARED.some((route) => route.method === asked && route.path.test(path) && route.roles.includes(who.role))) return;
  throw new Problem({
    status: 403,
    code: 'out_of_scope',
    detail:
      who.role === 'chat'
        ? 'This token is for reading and continuing one chat only.'
        : 'A chat server’s token is for reading and continuing its own chats only.',
  });
}

/** What a chat's page, on whatever site it is, may ask with its token; everything else stays closed to other origins. */
export const isForChatPages = (path: string): boolean =>
  SHARED.some(({ path: known, roles }) => roles.includes('chat') && known.test(path));
