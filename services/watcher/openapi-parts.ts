import type { z } from 'zod';
import { problemSchema } from './openapi-schemas.ts';

/** What several routes of the OpenAPI document have in common. */

type Security = { security: Record<string, string[]>[] };
export const ADMIN: Security = { security: [{ admin: [] }, { login: [] }] };
/** Also for a chat server. */
export const SERVER: Security = { security: [...ADMIN.security, { chatServer: [] }] };
/** Also for the page of one chat. */
export const SHARED: Security = { security: [...SERVER.security, { chat: [] }] };

export const json = (description: string, schema: z.ZodType) => ({
  description,
  content: { 'application/json': { schema } },
});
export const problem = (description: string) => ({
  description,
  content: { 'application/problem+json': { schema: problemSchema } },
});
export const unavailable = {
  503: problem('`redis_unavailable`: nothing was accepted; send it again after `Retry-After`.'),
};
export const guarded = {
  401: problem('`unauthorized`: the token or login is missing, wrong or too old.'),
  403: problem('`out_of_scope`: not for this token. `cross_site`, `host_not_loopback`: made by another web page.'),
  429: problem('`too_many_requests`: too many wrong tokens from this address.'),
  ...unavailable,
};
