import { z } from 'zod';

/**
 * The frames of Paddock's one WebSocket that are of use here, `{ type, payload }` in JSON (Paddock 0.72). Unknown types and
 * fields are ignored. `projectSlug` `''` is the root workspace, a real project: it is tested for absence only.
 */
const about = { projectSlug: z.string(), sessionId: z.string() };

export const serverFrameSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('chat:active'),
    payload: z.object({
      ...about,
      jobId: z.string().nullish(),
      /** Also true while background work is left behind. */
      running: z.boolean(),
      /** A model turn alone; older servers leave it out. */
      turnRunning: z.boolean().nullish(),
    }),
  }),
  z.object({
    type: z.literal('chat:complete'),
    payload: z.object({ ...about, jobId: z.string().nullish(), success: z.boolean(), error: z.unknown().optional() }),
  }),
  z.object({
    type: z.literal('chat:background'),
    payload: z.object({
      ...about,
      tasks: z.array(
        z.object({ id: z.string(), type: z.string().nullish(), description: z.string().nullish() }).loose(),
      ),
    }),
  }),
  z.object({ type: z.literal('chat:killed_task'), payload: z.object({ ...about, summary: z.string().nullish() }) }),
  z.object({ type: z.literal('chat:queued_state'), payload: z.object({ ...about, text: z.string().nullish() }) }),
  z.object({
    type: z.literal('chat:error'),
    payload: z.object({ projectSlug: z.string().nullish(), error: z.unknown().optional() }),
  }),
  z.object({ type: z.literal('pong') }),
]);
export type ServerFrame = z.infer<typeof serverFrameSchema>;

/** What we say. */
export type ClientFrame =
  | { type: 'ping' }
  | { type: 'chat:continue'; payload: { projectSlug: string; sessionId: string } }
  | { type: 'chat:send'; payload: { projectSlug: string; sessionId: string; message: string } };

/** The frame in a message, or `undefined` for one that says nothing to us. */
export function parseFrame(text: unknown): ServerFrame | undefined {
  if (typeof text !== 'string') return undefined;
  try {
    return serverFrameSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
