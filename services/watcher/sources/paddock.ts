import { randomUUID } from 'node:crypto';
import { lifecycleEventSchema, type LifecycleEvent } from '#shared/session/events.js';
import type { SessionRecord } from '#shared/session/record.js';
import type { PaddockChange, PaddockSession } from '#shared/session-api/paddock/board.js';
import type { PaddockLink } from '#shared/session-api/paddock/link.js';
import type { ChatServer } from '#shared/settings/environment.js';
import { acceptDelivery, type DeliveryParts } from '../deliveries.ts';
import { createInlet } from './inlet.ts';

/**
 * A Paddock's socket as the source of its sessions' events, by the same way as webhooks.
 *
 * What its frames do not tell: who began a turn (a turn that follows our nudge is recovery's, any other counts as a person's,
 * and the transcript decides about prompts), that a person stopped a task, and that a chat was deleted.
 */
export interface EventSource {
  start(): void;
  close(): Promise<void>;
}

export interface PaddockSourceParts {
  delivery: DeliveryParts;
  server: ChatServer;
  link: PaddockLink;
  retryMs?: number;
}

type Cause = Extract<LifecycleEvent, { type: 'turn.started' }>['data']['cause'];

export function createPaddockSource({ delivery, server, link, retryMs }: PaddockSourceParts): EventSource {
  const { core } = delivery;
  const inlet = createInlet(core.log, retryMs);
  const stampOf = risingStamps();

  function changed({ kind, session, failed = false }: PaddockChange): void {
    const atMs = stampOf(session.sessionId);
    const turn = { kind, session, failed, atMs, id: session.jobId ?? randomUUID() };
    inlet.push(session.sessionId, () => (kind === 'killed' ? killed(turn) : apply(turn)));
  }

  interface Turn {
    kind: PaddockChange['kind'];
    session: PaddockSession;
    failed: boolean;
    atMs: number;
    id: string;
  }

  async function apply(turn: Turn): Promise<void> {
    const { kind, session, atMs, id } = turn;
    const record = await core.store.find(session.sessionId);
    const event = kind === 'started' ? startOf(turn, record) : await endOf(turn, record);
    if (event === undefined) {
      core.log.warn(
        { sessionId: session.sessionId },
        'No transcript is found for a Paddock chat: check TRANSCRIPT_ROOTS.',
      );
      return;
    }
    const parsed = lifecycleEventSchema.safeParse(event);
    if (!parsed.success) {
      core.log.warn(
        { sessionId: session.sessionId, project: session.project, err: parsed.error },
        'Paddock told of a chat that cannot be watched.',
      );
      return;
    }
    // The same for every watcher that listens to this Paddock: the second finds a duplicate.
    const deliveryId = `paddock-${server.id}-${session.sessionId}-${id}-${kind}`;
    const accepted = { deliveryId, server, source: 'webhook' as const, signedMs: atMs, cid: deliveryId };
    await acceptDelivery(delivery, { ...accepted, event: parsed.data });
  }

  /** Paddock saw the kill itself. A chat that nobody watches yet (its turn ended before we came) is watched from now on. */
  async function killed(turn: Turn): Promise<void> {
    const { sessionId } = turn.session;
    const watched = delivery.transcripts.get(sessionId);
    if (watched !== undefined) return delivery.transcripts.lookIfChanged(watched, 'event');
    const record = await core.store.find(sessionId);
    if (record?.armed !== true && !turn.session.running)
      await apply({ ...turn, kind: 'ended', id: `killed-${turn.id}` });
  }

  async function endOf({ session, failed, atMs }: Turn, record: SessionRecord | undefined) {
    const transcriptPath = record?.path ?? (await core.reader.locate(server, session.sessionId));
    if (transcriptPath === undefined) return undefined;
    const data = {
      ...about(session),
      driveMode: 'session',
      outcome: failed ? 'failed' : 'completed',
      cause: causeOf(session, record),
      transcriptPath,
      backgroundTasks: session.tasks,
    };
    return { type: 'turn.ended', timestamp: new Date(atMs).toISOString(), data };
  }

  const stop = link.listen({ change: changed });
  return {
    start: () => link.start(),
    async close() {
      stop();
      link.close();
      await inlet.close();
    },
  };
}

function startOf({ session, atMs }: { session: PaddockSession; atMs: number }, record: SessionRecord | undefined) {
  const data = { ...about(session), cause: causeOf(session, record) };
  return { type: 'turn.started', timestamp: new Date(atMs).toISOString(), data };
}

function about({ sessionId, project, jobId }: PaddockSession) {
  return { sessionId, project, ...(jobId === undefined ? {} : { turnId: jobId }) };
}

/** A turn is recovery's where our call is under way, or was answered by this very turn. */
function causeOf({ jobId }: PaddockSession, record: SessionRecord | undefined): Cause {
  const attempt = record?.attempt;
  if (attempt === undefined) return 'human';
  const isOurs = attempt.phase === 'sending' || (jobId !== undefined && attempt.turnId === jobId);
  return isOurs ? 'recovery' : 'human';
}

/** Our own clock, within a session always later than before: one clock for all its events. */
function risingStamps(): (sessionId: string) => number {
  const last = new Map<string, number>();
  return (sessionId) => {
    const nowMs = Date.now();
    const stampMs = Math.max(nowMs, (last.get(sessionId) ?? 0) + 1);
    last.set(sessionId, stampMs);
    if (last.size > 10_000) for (const [id, ms] of last) if (ms < nowMs) last.delete(id);
    return stampMs;
  };
}
