import { randomUUID } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { encodeCwd, originFields, toolResult, type LaunchedTask, type PromptOrigin } from './transcript-shapes.ts';

/** Claude Code's version whose shapes are written. */
export const WRITTEN_VERSION = '2.1.332';
const MODEL = 'claude-sonnet-4-5';

/**
 * Writes one session's transcript in the shapes of Claude Code 2.1.332: every entry one line, every line one append, so
 * that a reader never sees half a line by our doing.
 */
export class TranscriptWriter {
  readonly path: string;
  readonly #sessionId: string;
  readonly #cwd: string;
  #parent: string | null;
  #promptId = randomUUID();
  #turnIndex = 0;
  #requests = 0;

  constructor(place: { path: string; sessionId: string; cwd: string }) {
    this.path = place.path;
    this.#sessionId = place.sessionId;
    this.#cwd = place.cwd;
    mkdirSync(dirname(place.path), { recursive: true });
    this.#parent = lastUuid(place.path);
  }

  enqueue(content: string): void {
    this.#queue('enqueue', { content });
  }

  dequeue(): void {
    this.#queue('dequeue', {});
  }

  prompt(text: string, origin: PromptOrigin): void {
    this.#promptId = randomUUID();
    this.#turnIndex += 1;
    this.#chained({
      promptId: this.#promptId,
      type: 'user',
      message: { role: 'user', content: text },
      permissionMode: 'bypassPermissions',
      ...originFields(origin),
      sentAtMs: Date.now(),
      turnPosition: { promptIndex: 0, turnIndex: this.#turnIndex },
    });
    if (origin !== 'task-notification') this.#reminder();
    this.#append({ type: 'last-prompt', lastPrompt: text.slice(0, 200), leafUuid: this.#parent });
  }

  reply(text: string): void {
    this.#assistant([{ type: 'text', text }], 'end_turn');
  }

  /** The model starts a background command and gets the tool's answer. */
  launch(task: LaunchedTask): void {
    const input = { command: task.command, description: task.description, run_in_background: true };
    this.#append({ type: 'tools-used', tools: ['Bash'] });
    this.#assistant([{ type: 'text', text: 'Starting the build in the background.' }], 'tool_use');
    this.#assistant([{ type: 'tool_use', id: task.toolUseId, name: 'Bash', input }], 'tool_use');
    const caller = this.#parent;
    this.#chained({
      promptId: this.#promptId,
      type: 'user',
      message: { role: 'user', content: [toolResult(task, this.#outputFile(task.taskId))] },
      toolUseResult: {
        stdout: '',
        stderr: '',
        interrupted: false,
        isImage: false,
        noOutputExpected: false,
        backgroundTaskId: task.taskId,
      },
      sandboxed: false,
      sourceToolAssistantUUID: caller,
      permissionDecision: { decision: 'accept', source: 'config', reasonType: 'mode' },
    });
    this.#reminder();
  }

  /** A queued notification is folded into the turn that is under way. */
  absorb(notification: string, queuedAt: string): void {
    const commandUuid = randomUUID();
    const deliveryId = randomUUID();
    this.#queue('remove', { content: notification, reason: 'absorbed_mid_turn', commandUuid, deliveryId });
    this.#chained({
      attachment: {
        type: 'queued_command',
        prompt: notification,
        source_uuid: commandUuid,
        delivery_id: deliveryId,
        commandMode: 'task-notification',
        rowSource: 'harness',
        timestamp: queuedAt,
      },
      type: 'attachment',
      // The attachment carries the time of the kill, however much later it is written.
      timestamp: queuedAt,
    });
  }

  interrupted(): void {
    this.#chained({
      promptId: this.#promptId,
      type: 'user',
      message: { role: 'user', content: [{ type: 'text', text: '[Request interrupted by user]' }] },
    });
  }

  /** The text with which the runtime reports how a task ended. */
  notification(task: LaunchedTask, status: string, summary: string): string {
    return [
      '<task-notification>',
      `<task-id>${task.taskId}</task-id>`,
      `<tool-use-id>${task.toolUseId}</tool-use-id>`,
      `<output-file>${this.#outputFile(task.taskId)}</output-file>`,
      `<status>${status}</status>`,
      `<summary>${summary}</summary>`,
      '</task-notification>',
    ].join('\n');
  }

  #assistant(content: object[], stopReason: string): void {
    this.#requests += 1;
    this.#chained({
      message: {
        id: `msg_${this.#requests}_${Date.now()}`,
        type: 'message',
        role: 'assistant',
        model: MODEL,
        content,
        stop_reason: stopReason,
        stop_sequence: null,
        usage: { input_tokens: 10, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 20 },
      },
      requestId: `req_${this.#requests}`,
      requestedModel: MODEL,
      type: 'assistant',
      madeBy: 'model',
    });
  }

  #reminder(): void {
    const text = '<total_tokens>15000000 tokens left</total_tokens>';
    this.#chained({ attachment: { type: 'total_tokens_reminder', text }, type: 'attachment' });
  }

  #queue(operation: string, more: object): void {
    this.#append({ type: 'queue-operation', operation, timestamp: now(), ...more });
  }

  /** An entry of the conversation: it has an id and names the one before it. */
  #chained(entry: object): void {
    const uuid = randomUUID();
    this.#append({
      parentUuid: this.#parent,
      isSidechain: false,
      uuid,
      timestamp: now(),
      ...entry,
      userType: 'external',
      entrypoint: 'sdk-cli',
      cwd: this.#cwd,
      version: WRITTEN_VERSION,
      gitBranch: 'HEAD',
    });
    this.#parent = uuid;
  }

  #append(entry: object): void {
    appendFileSync(this.path, `${JSON.stringify({ ...entry, sessionId: this.#sessionId })}\n`);
  }

  #outputFile(taskId: string): string {
    return `/tmp/claude/${encodeCwd(this.#cwd)}/${this.#sessionId}/tasks/${taskId}.output`;
  }
}

const now = (): string => new Date().toISOString();

/** The newest entry's id of a transcript that an earlier process wrote. */
function lastUuid(path: string): string | null {
  if (!existsSync(path)) return null;
  const ids = readFileSync(path, 'utf8').match(/"uuid":"[^"]+"/g);
  return ids?.at(-1)?.slice(8, -1) ?? null;
}
