import { z } from 'zod';
import { sessionIdSchema } from '#shared/session/events.js';

/**
 * What Claude Code sends to its hooks, as far as it is used here (2.1.332; `test/fixtures/hooks` holds real ones). Fields that
 * are odd or missing are left out rather than refused: whatever a version sends, no hook may fail.
 */
const line = (max: number) =>
  z
    .string()
    .min(1)
    .max(max)
    .optional()
    .catch(() => undefined);
const shortened = (max: number) =>
  z
    .string()
    .transform((text) => text.slice(0, max))
    .optional()
    .catch(() => undefined);

const common = {
  session_id: sessionIdSchema,
  transcript_path: line(4_096),
  cwd: line(4_096),
  /** One for each prompt and the turn that it starts; absent in older versions. */
  prompt_id: line(100),
  /** Only in what a sub-agent does. */
  agent_id: line(200),
};

const MOST_TASKS = 500;
const tasks = z
  .array(z.object({ id: z.string().max(200), type: shortened(100), description: shortened(2_000) }))
  .transform((list) => list.slice(0, MOST_TASKS))
  .optional()
  .catch(() => undefined);

export const hookSchema = z.discriminatedUnion('hook_event_name', [
  z.object({ ...common, hook_event_name: z.literal('Stop'), background_tasks: tasks }),
  z.object({ ...common, hook_event_name: z.literal('StopFailure'), error: shortened(100) }),
  z.object({ ...common, hook_event_name: z.literal('UserPromptSubmit'), prompt: z.string().catch('') }),
  z.object({
    ...common,
    hook_event_name: z.literal('SessionStart'),
    source: line(100),
    /** Added by our own command: Claude Code's process, and its start as the kernel there tells it. */
    claude_process: z
      .object({ pid: z.int().positive(), startTicks: z.string().max(40).nullable() })
      .optional()
      .catch(() => undefined),
  }),
  z.object({ ...common, hook_event_name: z.literal('SessionEnd'), reason: line(100) }),
]);
export type Hook = z.output<typeof hookSchema>;

/** A payload of a hook that means something here; else what it is, for the count. */
export function readHook(body: unknown): Hook | { ignored: string } | { refused: string } {
  const name =
    typeof body === 'object' && body !== null && 'hook_event_name' in body ? body.hook_event_name : undefined;
  if (typeof name !== 'string') return { refused: 'none' };
  if (!KNOWN.has(name)) return { ignored: 'other' };
  const parsed = hookSchema.safeParse(body);
  if (!parsed.success) return { refused: name };
  // A sub-agent's own turns are not the chat's.
  return parsed.data.agent_id === undefined ? parsed.data : { ignored: name };
}

const KNOWN: ReadonlySet<string> = new Set(['Stop', 'StopFailure', 'UserPromptSubmit', 'SessionStart', 'SessionEnd']);
