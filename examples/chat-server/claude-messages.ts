import { z } from 'zod';

/** The messages of the Agent SDK's stream that tell busy from idle; all others are left alone. */
const tasks = z.array(
  z.object({ task_id: z.string(), task_type: z.string().default(''), description: z.string().default('') }),
);
const resultSchema = z.object({
  type: z.literal('result'),
  is_error: z.boolean().default(false),
  num_turns: z.number().default(1),
  result: z.string().default(''),
  /** `aborted_streaming` and the like after an interruption. */
  terminal_reason: z.string().default(''),
  origin: z.object({ kind: z.string() }).optional(),
  user_message_uuid: z.string().optional(),
  user_message_uuids: z.array(z.string()).optional(),
});
const systemSchema = z.discriminatedUnion('subtype', [
  z.object({ type: z.literal('system'), subtype: z.literal('background_tasks_changed'), tasks }),
  z.object({
    type: z.literal('system'),
    subtype: z.literal('task_notification'),
    task_id: z.string(),
    status: z.string(),
    summary: z.string().default(''),
  }),
]);
const messageSchema = z.union([resultSchema, systemSchema]);

export type ClaudeMessage = z.infer<typeof messageSchema>;
export type ClaudeResult = z.infer<typeof resultSchema>;

/** The message, or `undefined` where it is none of those that matter here. */
export const readClaudeMessage = (message: unknown): ClaudeMessage | undefined => messageSchema.safeParse(message).data;
