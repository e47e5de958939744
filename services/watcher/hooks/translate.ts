import { createHash } from 'node:crypto';
import type { Cause, LifecycleDelivery } from '#shared/session/events.js';
import { isNotificationText, isNudgeText } from '#shared/transcript/text.js';
import type { Hook } from './payload.ts';

/** An event as a chat server would tell it, but for its stamp. */
export type Told = Omit<LifecycleDelivery, 'timestamp'>;

/** What is known besides the payload. */
export interface Known {
  project: string;
  /** Why the turn that now ends began. */
  cause: Cause;
}

/**
 * What a hook says of the chat's life, in the words of the webhooks, in their order. Pure.
 *
 * - A prompt is a wake where it is the runtime's notice, recovery's where it begins with a nudge's label. Any other counts as a
 *   person's: hooks do not tell who wrote it (a program on the Agent SDK may have), and to take a person for a program would let
 *   recovery go on over their head, while a program taken for a person only begins a new count of tries.
 * - `Stop` and `StopFailure` end a turn; a turn that its user interrupts ends without either, and is found by its transcript.
 * - `SessionEnd` is the process's end (a signal, a closed terminal, `/exit`), not the chat's: it can be resumed, and what
 *   was killed with it is what recovery is for. Only `/clear` closes: its user has begun another chat in its place.
 */
export function eventsOf(hook: Hook, { project, cause }: Known): Told[] {
  const about = {
    sessionId: hook.session_id,
    project,
    ...(hook.prompt_id === undefined ? {} : { turnId: hook.prompt_id }),
  };
  switch (hook.hook_event_name) {
    case 'UserPromptSubmit': {
      const started: Told = { type: 'turn.started', data: { ...about, cause } };
      return cause === 'human' ? [{ type: 'message.human', data: about }, started] : [started];
    }
    case 'Stop':
    case 'StopFailure': {
      const isFailed = hook.hook_event_name === 'StopFailure';
      const data = {
        ...about,
        driveMode: 'session' as const,
        outcome: isFailed ? ('failed' as const) : ('completed' as const),
        cause,
        ...(hook.transcript_path === undefined ? {} : { transcriptPath: hook.transcript_path }),
        ...(hook.cwd === undefined ? {} : { cwd: hook.cwd }),
        ...(isFailed || hook.background_tasks === undefined ? {} : { backgroundTasks: hook.background_tasks }),
      };
      return [{ type: 'turn.ended', data }];
    }
    case 'SessionEnd':
      return hook.reason === 'clear'
        ? [{ type: 'session.closed', data: { sessionId: hook.session_id, project, reason: 'ended' } }]
        : [];
    case 'SessionStart':
      return [];
  }
}

/** Why a prompt's turn begins. */
export function causeOfPrompt(prompt: string, label: string): Cause {
  if (isNotificationText(prompt)) return 'wake';
  return isNudgeText(prompt, [label]) ? 'recovery' : 'human';
}

/**
 * The same for a payload that comes twice (two settings files that both name us), and for no other: hooks carry no id. Without
 * a `prompt_id` two equal payloads may be two turns ("go on", "Done."), so nothing is taken for a repeat.
 */
export function deliveryIdOf(hook: Hook, body: Buffer, otherwise: string): string {
  const what = `hook-${hook.session_id}-${hook.hook_event_name}`;
  if (hook.prompt_id === undefined) return `${what}-${otherwise}`;
  return `${what}-${createHash('sha256').update(body).digest('base64url')}`;
}
