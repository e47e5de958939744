import { SessionApiFailure, type NudgeMessage, type SessionDriver, type SessionStatus } from '../driver.ts';
import { busy, refused, unknownOutcome } from '../refusals.ts';
import type { ClientFrame } from './frames.ts';
import type { PaddockLink } from './link.ts';

export interface PaddockDriverOptions {
  link: PaddockLink;
  /** `continue`: Paddock's own nudge; `send`: our text, as a user's message. */
  frame: 'continue' | 'send';
  /** Deadline of one call: half of it may pass until there is a connection. */
  timeoutMs: number;
  /** How long Paddock has to begin the turn; no frame answers a nudge but the turn itself. */
  effectWithinMs?: number;
}

const EFFECT_WITHIN_MS = 5_000;

/**
 * Drives a Paddock as it is, over its WebSocket.
 *
 * Not idempotent: a nudge whose effect was not seen because the connection broke is never repeated. Paddock ignores a
 * `chat:continue` where Layer 2 is off, the project is unknown or a turn runs; that is told by the turn that does not come.
 */
export function createPaddockDriver(options: PaddockDriverOptions): SessionDriver {
  const { link, timeoutMs } = options;
  const ready = (signal?: AbortSignal): Promise<void> =>
    link.ready(timeoutMs / 2, signal).catch((error: unknown) => {
      throw new SessionApiFailure({
        class: 'network',
        code: 'paddock_unreachable',
        message: error instanceof Error ? error.message : String(error),
        mayHaveArrived: false,
      });
    });
  return {
    idempotent: false,
    canSend: true,
    async state(sessionId, signal) {
      await ready(signal);
      return statusOf(link, sessionId);
    },
    async send(message, signal) {
      await ready(signal);
      return send(options, message);
    },
    probe: ready,
    close: async () => link.close(),
  };
}

/** Paddock names every running turn; a session that it does not name is at rest. */
function statusOf(link: PaddockLink, sessionId: string): SessionStatus {
  const session = link.board.get(sessionId);
  return {
    state: session?.running === true ? 'running' : 'idle',
    queuedFollowUp: session?.queued ?? false,
    project: session?.project,
    transcriptPath: undefined,
  };
}

/** From the check to the frame nothing is awaited. */
function send(options: PaddockDriverOptions, message: NudgeMessage): Promise<{ turnId: string | undefined }> {
  const { link } = options;
  const { state, queuedFollowUp, project } = statusOf(link, message.sessionId);
  if (state === 'running') throw busy('turn_running', 'Paddock says that a turn runs');
  if (queuedFollowUp) throw busy('queued_follow_up', 'Paddock says that a message waits');
  const projectSlug = message.place?.project ?? project;
  if (projectSlug === undefined) throw refused('project_unknown', 'Paddock needs the project of the session');
  const effect = untilItsTurn(options, message.sessionId);
  if (!link.say(frameOf(options, message, projectSlug))) {
    effect.cancel();
    throw new SessionApiFailure({
      class: 'network',
      code: 'paddock_unreachable',
      message: 'The connection to Paddock was lost.',
      mayHaveArrived: false,
    });
  }
  return effect.promise;
}

function frameOf({ frame }: PaddockDriverOptions, message: NudgeMessage, projectSlug: string): ClientFrame {
  const about = { projectSlug, sessionId: message.sessionId };
  return frame === 'send'
    ? { type: 'chat:send', payload: { ...about, message: message.text } }
    : { type: 'chat:continue', payload: about };
}

/** The session's next turn is the effect; a lost connection leaves it open; time without either is a refusal. */
function untilItsTurn({ link, timeoutMs, frame, ...options }: PaddockDriverOptions, sessionId: string) {
  const effectWithinMs = options.effectWithinMs ?? Math.min(EFFECT_WITHIN_MS, timeoutMs);
  const ends: (() => void)[] = [];
  const promise = new Promise<{ turnId: string | undefined }>((resolve, reject) => {
    let reason = '';
    const timer = setTimeout(() => {
      const why = frame === 'continue' ? 'is Layer 2 on for the project there?' : 'is the project known there?';
      reject(refused('paddock_ignored', `Paddock began no turn within ${effectWithinMs} ms; ${why}${reason}`));
      end();
    }, effectWithinMs);
    const stop = link.listen({
      change({ kind, session }) {
        if (kind !== 'started' || session.sessionId !== sessionId.toLowerCase()) return;
        resolve({ turnId: session.jobId });
        end();
      },
      frame(heard) {
        if (heard.type === 'chat:error') reason = ` It said: ${JSON.stringify(heard.payload.error ?? null)}.`;
      },
      lost() {
        reject(unknownOutcome('paddock_lost', 'the connection to Paddock broke before the turn was seen'));
        end();
      },
    });
    const end = (): void => {
      clearTimeout(timer);
      stop();
    };
    ends.push(end);
  });
  return { promise, cancel: () => ends.forEach((end) => end()) };
}
