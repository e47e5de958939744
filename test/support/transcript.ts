import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Writes a chat's transcript line by line in the shapes of real ones (2.1.332), for tests of what stands around the detector.
 * The detector itself is judged on recorded transcripts.
 */
export class TestTranscript {
  readonly sessionId: string;
  readonly path: string;
  /** How long the file is by now. */
  bytes = 0;
  #tasks = 0;

  constructor(root: string, sessionId: string = randomUUID()) {
    this.sessionId = sessionId;
    this.path = join(root, 'project', `${sessionId}.jsonl`);
    mkdirSync(dirname(this.path), { recursive: true });
  }

  append(entry: Record<string, unknown>): void {
    const whole = {
      uuid: randomUUID(),
      timestamp: new Date().toISOString(),
      sessionId: this.sessionId,
      isSidechain: false,
      ...entry,
    };
    const line = Buffer.from(`${JSON.stringify(whole)}\n`);
    appendFileSync(this.path, line);
    this.bytes += line.length;
  }

  human(text = 'Please build it.'): void {
    this.append({
      type: 'user',
      message: { role: 'user', content: text },
      origin: { kind: 'human' },
      promptSource: 'typed',
    });
  }

  reply(text = 'Done.'): void {
    this.append({
      type: 'assistant',
      message: {
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [{ type: 'text', text }],
        stop_reason: 'end_turn',
      },
    });
  }

  /** A background command is launched; returns its task id. */
  launch(): { taskId: string; toolUseId: string } {
    this.#tasks += 1;
    const taskId = `b${this.#tasks}${randomUUID().slice(0, 6)}`;
    const toolUseId = `toolu_${randomUUID()}`;
    const input = { command: 'sleep 600', description: 'Run the long build', run_in_background: true };
    this.append({
      type: 'assistant',
      message: {
        role: 'assistant',
        model: 'claude-sonnet-4-5',
        content: [{ type: 'tool_use', id: toolUseId, name: 'Bash', input }],
        stop_reason: 'tool_use',
      },
    });
    const content = `Command running in background with ID: ${taskId}.`;
    this.append({
      type: 'user',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: toolUseId, content }] },
      toolUseResult: { backgroundTaskId: taskId },
    });
    return { taskId, toolUseId };
  }

  /** A whole turn that leaves a background task behind. */
  turnWithBackgroundTask(): { taskId: string; toolUseId: string } {
    this.human();
    const task = this.launch();
    this.reply('It runs in the background.');
    return task;
  }

  notice(task: { taskId: string; toolUseId: string }, status = 'killed'): void {
    this.append({ type: 'queue-operation', operation: 'enqueue', content: noticeText(task, status) });
  }

  /** The runtime takes a queued notice as a prompt: a wake has begun. */
  deliver(task: { taskId: string; toolUseId: string }, status: string): void {
    this.append({ type: 'queue-operation', operation: 'dequeue' });
    this.append({
      type: 'user',
      message: { role: 'user', content: noticeText(task, status) },
      origin: { kind: 'task-notification' },
    });
  }

  /** The user pressed Escape. */
  interruption(): void {
    const content = [{ type: 'text', text: '[Request interrupted by user]' }];
    this.append({ type: 'user', message: { role: 'user', content } });
  }

  /** A prompt that is no person's: a nudge as a chat server writes it. */
  prompt(text: string): void {
    this.append({ type: 'queue-operation', operation: 'enqueue', content: text });
    this.append({ type: 'queue-operation', operation: 'dequeue' });
    this.append({ type: 'user', message: { role: 'user', content: text }, promptSource: 'sdk', turnOrigin: 'sdk' });
  }

  /** A chat that hangs: a turn with a background task that is killed afterwards. */
  hang(): { taskId: string; toolUseId: string } {
    const task = this.turnWithBackgroundTask();
    this.notice(task);
    return task;
  }
}

function noticeText(task: { taskId: string; toolUseId: string }, status: string): string {
  return [
    '<task-notification>',
    `<task-id>${task.taskId}</task-id>`,
    `<tool-use-id>${task.toolUseId}</tool-use-id>`,
    `<status>${status}</status>`,
    `<summary>Background command "Run the long build" was ${status === 'killed' ? 'stopped' : status}</summary>`,
    '</task-notification>',
  ].join('\n');
}
