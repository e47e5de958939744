import { z } from 'zod';

/**
 * Lifecycle webhooks of a chat server (SPEC §6): what a delivery looks like on the wire.
 *
 * Unknown fields are dropped; unknown types are the caller's 422. All stamps are the chat server's own clock.
 */

/** A session id is Claude Code's UUID; nothing else ever becomes part of a key or a path. */
export const sessionIdSchema = z
  .string()
  .regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i, 'must be a session id (a UUID)')
  .transform((id) => id.toLowerCase());

/** A project's slug; `''` is the root workspace, a real project. Never a path: no `/`, no `..`, no NUL. */
export const projectSlugSchema = z
  .string()
  .max(200)
  .refine((slug) => slug === '' || /^[\w][\w.-]*$/u.test(slug), 'must be a project slug')
  .refine((slug) => !slug.includes('..'), 'must not contain ".."');

export const CAUSES = ['human', 'recovery', 'wake', 'queue', 'schedule'] as const;
export type Cause = (typeof CAUSES)[number];

const turnId = z.string().min(1).max(200).optional();
const common = { sessionId: sessionIdSchema, project: projectSlugSchema };

const backgroundTask = z.object({
  id: z.string().max(200),
  type: z.string().max(100).optional(),
  description: z.string().max(2_000).optional(),
});

export const turnEndedSchema = z
  .object({
    ...common,
    driveMode: z.enum(['session', 'batch']),
    outcome: z.enum(['completed', 'interrupted', 'failed']),
    cause: z.enum(CAUSES),
    transcriptPath: z.string().min(1).max(4_096).optional(),
    cwd: z.string().min(1).max(4_096).optional(),
    turnId,
    backgroundTasks: z.array(backgroundTask).max(500).optional(),
  })
  .refine((data) => data.transcriptPath !== undefined || data.cwd !== undefined, {
    message: 'transcriptPath or cwd is required',
    path: ['transcriptPath'],
  });
export const turnStartedSchema = z.object({ ...common, cause: z.enum(CAUSES), turnId });
export const humanMessageSchema = z.object({ ...common, turnId });
export const taskStoppedSchema = z.object({ ...common, taskId: z.string().min(1).max(200), by: z.literal('user') });
export const CLOSE_REASONS = ['deleted', 'reverted', 'promoted', 'ended', 'crashed'] as const;
export const sessionClosedSchema = z.object({ ...common, reason: z.enum(CLOSE_REASONS) });

const stamp = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

/** A whole delivery; `timestamp` becomes epoch milliseconds. */
export const lifecycleEventSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('turn.ended'), timestamp: stamp, data: turnEndedSchema }),
  z.object({ type: z.literal('turn.started'), timestamp: stamp, data: turnStartedSchema }),
  z.object({ type: z.literal('message.human'), timestamp: stamp, data: humanMessageSchema }),
  z.object({ type: z.literal('task.stopped'), timestamp: stamp, data: taskStoppedSchema }),
  z.object({ type: z.literal('session.closed'), timestamp: stamp, data: sessionClosedSchema }),
]);
export type LifecycleEvent = z.output<typeof lifecycleEventSchema>;
/** The delivery as it stands on the wire. */
export type LifecycleDelivery = z.input<typeof lifecycleEventSchema>;
export const LIFECYCLE_TYPES = [
  'turn.ended',
  'turn.started',
  'message.human',
  'task.stopped',
  'session.closed',
] as const;
