import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Channel } from './channel.ts';
import { claudeEnvironment, type ClaudeOptions } from './claude-environment.ts';
import { readClaudeMessage, type ClaudeResult } from './claude-messages.ts';
import { PermissionDesk } from './claude-permissions.ts';
import { loadAgentSdk, type SdkQuery, type SdkUserMessage } from './claude-sdk.ts';
import type { ChatRuntime, LiveSession, Outcome, RuntimeListener, SessionPlace, TurnRequest } from './runtime.ts';

/** Runs real Claude Code sessions, each held open by a prompt that does not end. */
export function createClaudeRuntime(options: ClaudeOptions & { claudeHome: string }): ChatRuntime {
  return {
    open: async (place, listener) => {
      const sdk = await loadAgentSdk();
      const session = new ClaudeSession(listener);
      session.attach(
        sdk.query({
          prompt: session.input,
          options: { ...queryOptions(options, place), ...session.callbacks(options.permissionMode) },
        }),
      );
      return session;
    },
  };
}

function queryOptions(options: ClaudeOptions & { claudeHome: string }, place: SessionPlace): Record<string, unknown> {
  const permissionMode = options.permissionMode ?? 'default';
  return {
    cwd: place.cwd,
    env: claudeEnvironment(options, options.claudeHome),
    permissionMode,
    allowDangerouslySkipPermissions: permissionMode === 'bypassPermissions',
    settingSources: [],
    ...(options.model === undefined ? {} : { model: options.model }),
    ...(place.resumed ? { resume: place.sessionId } : { sessionId: place.sessionId }),
  };
}

const INTERRUPT_TRIES = 50;
const INTERRUPT_EVERY_MS = 200;

/** Text with which the runtime tells the model how a background task ended. */
const NOTIFICATION = '<task-notification>';

class ClaudeSession implements LiveSession {
  readonly input = new Channel<SdkUserMessage>();
  readonly #listener: RuntimeListener;
  /** Turns that were asked for and have no result yet, oldest first, by the id of their message. */
  readonly #asked = new Map<string, TurnRequest>();
  readonly #permissions: PermissionDesk;
  /** The turn that a finished task began. */
  #wake: string | undefined;
  #query: SdkQuery | undefined;
  #reading: Promise<void> | undefined;
  #closing = false;

  constructor(listener: RuntimeListener) {
    this.#listener = listener;
    this.#permissions = new PermissionDesk((on) => listener.asking(on));
  }

  attach(query: SdkQuery): void {
    this.#query = query;
    this.#reading = this.#read(query);
  }

  /** What Claude Code asks its host. A wake shows first as a submitted prompt that the runtime wrote. */
  callbacks(mode: ClaudeOptions['permissionMode']): Record<string, unknown> {
    const submitted = async (input: { prompt?: unknown }): Promise<object> => {
      if (typeof input.prompt === 'string' && input.prompt.trimStart().startsWith(NOTIFICATION)) this.#woken();
      return {};
    };
    const canUseTool = (_tool: string, input: Record<string, unknown>, { signal }: { signal: AbortSignal }) =>
      this.#permissions.ask(input, signal);
    const hooks = { UserPromptSubmit: [{ hooks: [submitted] }] };
    // Nothing is asked where everything is allowed, and the SDK warns of a callback that it will never call.
    return mode === 'bypassPermissions' ? { hooks } : { hooks, canUseTool };
  }

  /**
   * A nudge is pushed as a plain message, not as a synthetic one: it then begins with its label in every version's
   * transcript, while a synthetic one gets a line of the runtime's before it and is marked as meta.
   */
  async begin(turn: TurnRequest): Promise<void> {
    const uuid = randomUUID();
    this.#asked.set(uuid, turn);
    this.input.push({
      type: 'user',
      message: { role: 'user', content: turn.text },
      parent_tool_use_id: null,
      uuid,
      ...(turn.cause === 'human' ? { origin: { kind: 'human' } } : {}),
    });
  }

  async answer(text: string): Promise<void> {
    this.#permissions.answer(text);
  }

  /**
   * Repeated until the turn has ended: an interruption that comes before the process has taken the message up is answered
   * and does nothing (seen with 2.1.332).
   */
  async interrupt(): Promise<void> {
    const target = this.#running();
    if (target === undefined) return;
    for (let tries = 0; tries < INTERRUPT_TRIES; tries += 1) {
      await this.#query?.interrupt();
      await sleep(INTERRUPT_EVERY_MS);
      if (this.#running() !== target) return;
    }
  }

  /** Claude Code offers one way to stop a task from outside, whoever wants it. */
  async killTask(taskId: string): Promise<boolean> {
    await this.#query?.stopTask(taskId);
    return true;
  }

  async close(): Promise<void> {
    this.#closing = true;
    this.input.close();
    this.#query?.close();
    await this.#reading;
  }

  async #read(query: SdkQuery): Promise<void> {
    try {
      for await (const message of query) this.#see(message);
      if (!this.#closing) this.#listener.crashed(new Error('Claude Code ended by itself.'));
    } catch (error) {
      if (!this.#closing) this.#listener.crashed(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #see(raw: unknown): void {
    const message = readClaudeMessage(raw);
    if (message === undefined || this.#closing) return;
    if (message.type === 'result') return this.#result(message);
    if (message.subtype === 'background_tasks_changed') {
      const tasks = message.tasks.map(({ task_id, task_type, description }) => ({
        id: task_id,
        type: task_type,
        description,
      }));
      return this.#listener.tasksChanged(tasks);
    }
    const what = message.status === 'stopped' ? 'task.killed' : 'task.completed';
    return this.#listener.noted(what, { taskId: message.task_id, status: message.status, summary: message.summary });
  }

  /** The turn that is running now, by its id. */
  #running(): string | undefined {
    return this.#wake ?? this.#asked.values().next().value?.turnId;
  }

  #woken(): void {
    if (this.#wake !== undefined) return;
    this.#wake = randomUUID();
    this.#listener.woken(this.#wake);
  }

  #result(result: ClaudeResult): void {
    const outcome = outcomeOf(result);
    if (result.result !== '') this.#listener.noted('reply', { text: result.result });
    for (const turnId of this.#endedBy(result)) this.#listener.turnEnded({ turnId, outcome, waiting: false });
  }

  /** The turns that a result ends: several messages may have been answered by one. */
  #endedBy(result: ClaudeResult): string[] {
    if (result.origin?.kind === 'task-notification') {
      const wake = this.#wake;
      this.#wake = undefined;
      // A resume reports lost tasks by a result of its own, without any turn.
      return wake === undefined || result.num_turns === 0 ? [] : [wake];
    }
    const named =
      result.user_message_uuids ?? (result.user_message_uuid === undefined ? [] : [result.user_message_uuid]);
    const known = named.filter((uuid) => this.#asked.has(uuid));
    const oldest = [...this.#asked.keys()].slice(0, 1);
    return (known.length > 0 ? known : oldest).flatMap((uuid) => {
      const turn = this.#asked.get(uuid);
      this.#asked.delete(uuid);
      return turn === undefined ? [] : [turn.turnId];
    });
  }
}

function outcomeOf(result: ClaudeResult): Outcome {
  if (result.terminal_reason.startsWith('aborted')) return 'interrupted';
  return result.is_error ? 'failed' : 'completed';
}
