import { appendFile, mkdir, rename, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';

/** A chat's transcript that a test writes line by line, in the shapes of Claude Code 2.1.332. */
export class Chat {
  readonly sessionId = randomUUID();
  readonly path: string;

  constructor(root: string, project = 'p1') {
    this.path = join(root, project, `${this.sessionId}.jsonl`);
  }

  /** A finished turn that launched one background task. */
  async begin(taskId = 'b1'): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true });
    await writeFile(this.path, this.openingLines(taskId));
  }

  openingLines(taskId = 'b1'): string {
    return lines(
      this.user('Run the long build'),
      this.assistant([
        {
          type: 'tool_use',
          id: `toolu_${taskId}`,
          name: 'Bash',
          input: { command: 'sleep 600', run_in_background: true },
        },
      ]),
      this.entry('user', {
        message: {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: `toolu_${taskId}`,
              content: `Command running in background with ID: ${taskId}.`,
            },
          ],
        },
        toolUseResult: { backgroundTaskId: taskId },
      }),
      this.assistant([{ type: 'text', text: 'The build runs.' }]),
    );
  }

  /** The runtime's notice that a task was ended; nothing wakes the chat. */
  async kill(taskId = 'b1', summary = 'Background command "Run the long build" was stopped'): Promise<void> {
    await appendFile(this.path, lines(this.killed(taskId, summary)));
  }

  killed(taskId: string, summary = 'Background command "Run the long build" was stopped'): object {
    return {
      type: 'queue-operation',
      operation: 'enqueue',
      timestamp: new Date().toISOString(),
      sessionId: this.sessionId,
      content: `<task-notification>\n<task-id>${taskId}</task-id>\n<tool-use-id>toolu_${taskId}</tool-use-id>\n<status>killed</status>\n<summary>${summary}</summary>\n</task-notification>`,
    };
  }

  /** A nudge, the killed notice delivered with it, and the reply. */
  async nudgeAndReply(taskId = 'b1'): Promise<void> {
    await appendFile(
      this.path,
      lines(
        this.user('[Paddock recovery] A background task was ended by the runtime. Go on.'),
        this.entry('attachment', {
          attachment: {
            type: 'queued_command',
            commandMode: 'task-notification',
            prompt: (this.killed(taskId) as { content: string }).content,
          },
        }),
        this.assistant([{ type: 'text', text: 'Going on in the foreground.' }]),
      ),
    );
  }

  /** A line that means nothing to a verdict. */
  async bookkeeping(): Promise<void> {
    await appendFile(this.path, lines({ type: 'last-prompt', lastPrompt: 'x', sessionId: this.sessionId }));
  }

  /** Writes the same content to another file and puts that in this one's place. */
  async replaceByRename(content: string): Promise<void> {
    const next = `${this.path}.new`;
    await writeFile(next, content);
    await rename(next, this.path);
  }

  user(text: string): object {
    return this.entry('user', { message: { role: 'user', content: text }, promptSource: 'sdk', turnOrigin: 'sdk' });
  }

  assistant(content: object[]): object {
    const stop = content.some((block) => 'name' in block) ? 'tool_use' : 'end_turn';
    return this.entry('assistant', {
      message: { role: 'assistant', model: 'claude-sonnet-4-5', content, stop_reason: stop },
    });
  }

  entry(type: string, fields: object): object {
    return {
      type,
      uuid: randomUUID(),
      isSidechain: false,
      sessionId: this.sessionId,
      timestamp: new Date().toISOString(),
      ...fields,
    };
  }
}

export function lines(...entries: object[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
}
