import { z } from 'zod';
import { sessionIdSchema } from '#shared/session/events.js';

/**
 * The session API that a chat server offers (SPEC §7): every request and answer, once.
 *
 * The HTTP driver reads answers with these schemas, the example chat server checks requests with them, and the OpenAPI
 * document is made from them. Unknown fields are ignored everywhere, so that either side may grow.
 */

export const SESSION_API_STATES = ['idle', 'running', 'waiting', 'closed'] as const;
export type SessionApiState = (typeof SESSION_API_STATES)[number];

export const CONFLICT_CODES = ['turn_running', 'queued_follow_up', 'waiting'] as const;
export type ConflictCode = (typeof CONFLICT_CODES)[number];

/** Name of the header that makes a repeated call harmless. */
export const IDEMPOTENCY_HEADER = 'Idempotency-Key';

/** Keys are made by the sender; a chat server only compares them. */
export const idempotencyKeySchema = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without blanks')
  .meta({
    description: 'Derived by the sender; the same attempt always carries the same key.',
    example: 'a1b2c3d4e5f6',
  });

const absentAsUndefined = <T>(value: T | null | undefined): T | undefined => value ?? undefined;

/** Answer of `GET /sessions/{id}`. */
export const sessionStatusSchema = z
  .object({
    state: z.enum(SESSION_API_STATES).meta({
      description:
        '`idle`: a message sent now would start a turn, in the live process or one that the server resumes itself. ' +
        '`running`: any process still drives the session. `waiting`: for a permission, a plan approval or an answer. ' +
        '`closed`: over for its user.',
    }),
    queuedFollowUp: z.boolean().meta({ description: 'A message is already queued behind the current turn.' }),
    project: z
      .string()
      .nullish()
      .transform(absentAsUndefined)
      .meta({ description: 'Slug of the project; the empty string is the root workspace.' }),
    transcriptPath: z
      .string()
      .nullish()
      .transform(absentAsUndefined)
      .meta({ description: 'Where the chat server has the transcript; absent before the first turn wrote it.' }),
  })
  .meta({ id: 'SessionStatus' });

/** Body of `POST /sessions/{id}/messages`. */
export const messageRequestSchema = z
  .object({
    text: z.string().min(1).max(100_000).meta({ description: 'What the session is told, as one user message.' }),
    sender: z
      .object({
        kind: z.literal('recovery'),
        label: z.string().min(1).max(100).meta({ description: 'The text begins with this label in brackets.' }),
      })
      .meta({ description: 'Lets the chat server show who spoke: never the person.' }),
    onlyIfIdle: z.literal(true).meta({
      description: 'Idle is checked and the turn begun in one step: no other message may come between.',
    }),
  })
  .meta({ id: 'MessageRequest' });
export type MessageRequest = z.infer<typeof messageRequestSchema>;

/** Answer 202. */
export const acceptedSchema = z
  .object({ turnId: z.string().min(1).max(200).meta({ description: 'The turn that the message started.' }) })
  .meta({ id: 'Accepted' });

/** Answer 409. */
export const conflictSchema = z
  .object({ code: z.enum(CONFLICT_CODES), detail: z.string().optional() })
  .meta({ id: 'Conflict', description: 'Definite: nothing was begun. Not remembered under the key.' });

/** Any other refusal. */
export const refusalSchema = z
  .object({ code: z.string(), detail: z.string().optional() })
  .meta({ id: 'Refusal', description: 'An RFC 9457 problem document or any object with a stable code.' });

export const sessionParamsSchema = z.object({ id: sessionIdSchema });
