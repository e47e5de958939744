import type { z } from 'zod';
import { Problem } from '#shared/platform/problem.js';

/** The value as the schema makes it, or {@link Problem} 422 that names the first field at fault. */
export function checked<S extends z.ZodType>(schema: S, value: unknown, code = 'invalid_parameter'): z.output<S> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.map(String).join('.') ?? '';
  throw new Problem({ status: 422, code, field, detail: `"${field}": ${issue?.message ?? 'is not valid'}.` });
}
