import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { InstalledClaude } from './install.ts';

/** A line of the CLI's own output, as far as the scenarios look at it. */
export interface StreamMessage {
  type: string;
  subtype?: string;
  session_id?: string;
  task_id?: string;
  status?: string;
  origin?: { kind?: string };
}

export interface SessionPlace {
  /** An empty folder of its own for this scenario: HOME, working directory and transcripts lie below it. */
  dir: string;
  modelUrl: string;
}

const MESSAGE_WITHIN_MS = 60_000;

/** One Claude Code process in stream-json mode, with an environment of its own: nothing is inherited but the path. */
export class RawSession {
  readonly messages: StreamMessage[] = [];
  readonly #place: SessionPlace;
  readonly #child: ChildProcess;
  readonly #events = new EventEmitter();
  readonly #exited: Promise<unknown>;

  constructor(claude: InstalledClaude, place: SessionPlace, resume?: string) {
    this.#place = place;
    const cwd = join(place.dir, 'project');
    mkdirSync(cwd, { recursive: true });
    const args = [
      '-p',
      '--input-format',
      'stream-json',
      '--output-format',
      'stream-json',
      '--verbose',
      '--model',
      'claude-sonnet-4-5',
      '--permission-mode',
      'bypassPermissions',
    ];
    if (resume !== undefined) args.push('--resume', resume);
    this.#child = spawn(claude.command, [...claude.args, ...args], {
      cwd,
      env: environment(place),
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    this.#exited = once(this.#child, 'close');
    const { stdout } = this.#child;
    if (stdout === null) throw new Error('no output');
    createInterface({ input: stdout }).on('line', (line) => this.#take(line));
  }

  #take(line: string): void {
    let message: StreamMessage;
    try {
      message = JSON.parse(line) as StreamMessage;
    } catch {
      return; // Not every line of an old version is JSON.
    }
    this.messages.push(message);
    this.#events.emit('message');
  }

  say(text: string): void {
    this.#write({ type: 'user', message: { role: 'user', content: text }, parent_tool_use_id: null });
  }
  stopTask(taskId: string): void {
    this.#write({
      type: 'control_request',
      request_id: randomUUID(),
      request: { subtype: 'stop_task', task_id: taskId },
    });
  }
  #write(message: unknown): void {
    this.#child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  /** The nth message that fits, said already or yet to come; `undefined` when it does not come. */
  async message(
    fits: (message: StreamMessage) => boolean,
    nth = 1,
    withinMs = MESSAGE_WITHIN_MS,
  ): Promise<StreamMessage | undefined> {
    const deadline = AbortSignal.timeout(withinMs);
    for (;;) {
      const found = this.messages.filter(fits)[nth - 1];
      if (found !== undefined || deadline.aborted) return found;
      await once(this.#events, 'message', { signal: deadline }).catch(() => undefined);
    }
  }

  /** The nth turn's end. */
  async turnEnd(nth: number): Promise<void> {
    if ((await this.message(({ type }) => type === 'result', nth)) === undefined)
      throw new Error(`turn ${nth} did not end`);
  }

  get sessionId(): string {
    return this.messages.find((message) => message.session_id !== undefined)?.session_id ?? '';
  }

  /** The session's file, wherever this version encodes the working directory. */
  transcript(): string | undefined {
    const projects = join(this.#place.dir, 'home', '.claude', 'projects');
    if (!existsSync(projects)) return undefined;
    const folders = readdirSync(projects).map((name) => join(projects, name, `${this.sessionId}.jsonl`));
    return folders.find((path) => existsSync(path));
  }

  async end(signal?: NodeJS.Signals): Promise<void> {
    if (signal === undefined) this.#child.stdin?.end();
    else this.#child.kill(signal);
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 15_000);
    await this.#exited;
    clearTimeout(timer);
  }
}

function environment({ dir, modelUrl }: SessionPlace): Record<string, string> {
  const home = join(dir, 'home');
  mkdirSync(home, { recursive: true });
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: home,
    IS_SANDBOX: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ANTHROPIC_API_KEY: 'fake',
    ANTHROPIC_BASE_URL: modelUrl,
  };
}
