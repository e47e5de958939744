import type { RouteConfig } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import { json, problem } from './openapi-parts.ts';

/** What a hook says, as far as it is used; everything else in it is ignored. */
const payloadSchema = z
  .looseObject({
    hook_event_name: z.string().meta({
      description:
        'Stop, StopFailure, UserPromptSubmit, SessionStart and SessionEnd mean something; others are ignored.',
    }),
    session_id: z.string().meta({ format: 'uuid' }),
    transcript_path: z.string(),
    cwd: z.string(),
    prompt_id: z.string().optional(),
  })
  .meta({ id: 'ClaudeCodeHook' });

export function hookRoutes(): RouteConfig[] {
  return [
    {
      method: 'post',
      path: '/v1/hooks/claude-code',
      summary: 'A hook of Claude Code itself, as it sends it',
      security: [{ hook: [] }],
      request: { body: { required: true, content: { 'application/json': { schema: payloadSchema } } } },
      responses: {
        200: json('Always `{}`, at once: nothing that could hold up, fail or steer the chat.', z.object({})),
        401: problem('`unauthorized`: no HOOK_TOKEN, or a wrong one.'),
        403: problem('`host_not_loopback`, `cross_site`: without a token, from another web page.'),
        429: problem('`too_many_requests`.'),
      },
    },
  ];
}
