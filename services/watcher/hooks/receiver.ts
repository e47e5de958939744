import { Stamps } from '#shared/client/stamps.js';
import { Problem } from '#shared/platform/problem.js';
import { lifecycleEventSchema, type Cause } from '#shared/session/events.js';
import type { ChatServer } from '#shared/settings/environment.js';
import { acceptDelivery, type DeliveryParts } from '../deliveries.ts';
import { projectOf, startFolder } from '../project-of.ts';
import { createInlet } from '../sources/inlet.ts';
import { readHook, type Hook } from './payload.ts';
import type { HookProcesses } from './processes.ts';
import { causeOfPrompt, deliveryIdOf, eventsOf, type Told } from './translate.ts';

/** A hook that has come in; its sender is known. */
export interface HookDelivery {
  server: ChatServer;
  body: Buffer;
  cid: string;
}

/** Takes hooks without keeping their senders waiting, and applies them in the order of their coming. */
export interface HookReceiver {
  /** Never throws, and waits for nothing. */
  take(delivery: HookDelivery): void;
  close(): Promise<void>;
}

export interface HookReceiverParts {
  delivery: DeliveryParts;
  processes: HookProcesses;
  /** A turn's end could not be recorded: the chat is to be looked for by its file. */
  onLost: (lost: { server: ChatServer; sessionId: string; transcriptPath: string }) => void;
  retryMs?: number;
  giveUpAfterMs?: number;
}

/** Claude Code repeats no hook: what Redis does not take within this is left to the transcript. */
const GIVE_UP_AFTER_MS = 60_000;
/** Turns whose cause is remembered until they end. */
const MOST_TURNS = 10_000;

export function createHookReceiver(parts: HookReceiverParts): HookReceiver {
  const { delivery, processes, onLost, retryMs, giveUpAfterMs = GIVE_UP_AFTER_MS } = parts;
  const { core } = delivery;
  const inlet = createInlet(core.log, retryMs, giveUpAfterMs);
  const stamps = new Stamps();
  const causes = new Map<string, Cause>();

  /** Why the turn began that this hook is about. A turn whose beginning was not heard counts as a person's. */
  function causeOf(hook: Hook): Cause {
    if (hook.hook_event_name !== 'UserPromptSubmit') return causes.get(hook.session_id) ?? 'human';
    const cause = causeOfPrompt(hook.prompt, core.settings.nudgeLabel);
    causes.delete(hook.session_id);
    causes.set(hook.session_id, cause);
    const [oldest] = causes.keys();
    if (causes.size > MOST_TURNS && oldest !== undefined) causes.delete(oldest);
    return cause;
  }

  async function apply(hook: Hook, events: LifecycleStep[]): Promise<void> {
    if (hook.hook_event_name === 'SessionStart') await processes.started(hook);
    if (hook.hook_event_name === 'SessionEnd' && SAME_PROCESS.has(hook.reason ?? '')) {
      await processes.left(hook.session_id);
    }
    const outcomes = [];
    for (const event of events) outcomes.push(await acceptOne(event));
    if (hook.hook_event_name === 'StopFailure') await noteError(hook);
    count(hook, outcomes.every((isNew) => isNew) ? 'applied' : 'duplicate');
  }

  async function acceptOne({ told, timestamp, server, deliveryId, cid }: LifecycleStep): Promise<boolean> {
    const event = lifecycleEventSchema.parse({ ...told, timestamp });
    const accepted = { deliveryId, server, source: 'hook' as const, event, signedMs: event.timestamp, cid };
    return (await acceptDelivery(delivery, accepted)).duplicate === undefined;
  }

  /** Login, limit, overload …: a nudge cannot help now, and a person wants to know. */
  async function noteError({ session_id: sessionId, error }: Extract<Hook, { hook_event_name: 'StopFailure' }>) {
    await core.store.note(sessionId, { kind: 'error-entry', detail: { error: error ?? 'unknown' } });
  }

  const count = ({ hook_event_name: event }: Hook, outcome: string): void =>
    core.count('hooks_total', { event, outcome });

  return {
    take({ server, body, cid }) {
      const hook = readHook(parseJson(body));
      if ('refused' in hook) return core.count('hooks_total', { event: hook.refused, outcome: 'refused' });
      if ('ignored' in hook) return core.count('hooks_total', { event: hook.ignored, outcome: 'ignored' });
      const known = {
        project: projectOf(startFolder(hook.cwd, hook.transcript_path), server.projectsDir),
        cause: causeOf(hook),
      };
      // Hooks carry no time: it is that of their coming, which Claude Code's waiting for each answer keeps in order.
      const events = eventsOf(hook, known).map((told) => {
        const timestamp = stamps.next(hook.session_id, Date.now());
        return { told, timestamp, server, cid, deliveryId: `${deliveryIdOf(hook, body, cid)}-${told.type}` };
      });
      inlet.push(hook.session_id, () => apply(hook, events), {
        refused(err) {
          const outcome = outcomeOf(err);
          count(hook, outcome);
          if (outcome === 'refused') core.log.warn({ sessionId: hook.session_id, cid, err }, 'A hook was refused.');
        },
        lost() {
          count(hook, 'lost');
          const { hook_event_name: name, session_id: sessionId, transcript_path: transcriptPath } = hook;
          if ((name === 'Stop' || name === 'StopFailure') && transcriptPath !== undefined) {
            onLost({ server, sessionId, transcriptPath });
          }
        },
      });
    },
    close: () => inlet.close(),
  };
}

interface LifecycleStep {
  told: Told;
  timestamp: string;
  server: ChatServer;
  deliveryId: string;
  cid: string;
}

/** Ends of a session after which its process goes on with another one. */
const SAME_PROCESS: ReadonlySet<string> = new Set(['clear', 'resume']);

/** A session that its chat server's webhooks tell of needs no hooks. */
const outcomeOf = ({ fields }: Problem): string =>
  fields.code === 'session_owned_by_other_server' ? 'not-ours' : 'refused';

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
