import type { z } from 'zod';
import { problemSchema } from './openapi-schemas.ts';

/** What several routes of the OpenAPI document have in common. */

export const ADMIN = { security: [{ admin: [] }] };

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
export const guarded = { 401: problem('`unauthorized`: the admin token is missing or wrong.'), ...unavailable };
