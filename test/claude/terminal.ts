import { execFile, execFileSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { identify, isAlive } from '#shared/liveness/process-id.js';
import { ROOT } from '../support/processes.ts';
import { eventually } from '../support/events.ts';

const run = promisify(execFile);
const PATIENCE = { timeoutMs: 60_000, everyMs: 200 };

/** The native program that the example's lock file brings. */
export const CLAUDE = join(
  ROOT,
  'examples/chat-server/node_modules/@anthropic-ai',
  `claude-agent-sdk-${process.platform}-${process.arch}`,
  'claude',
);

export const hasTmux = ((): boolean => {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** Claude Code as a person has it in a terminal: a home, a project and a tmux server of its own. */
export class Terminal {
  readonly home: string;
  readonly socket: string;
  readonly folder: string;
  readonly #env: Record<string, string>;

  constructor(dir: string, env: Record<string, string>) {
    this.home = join(dir, 'home');
    this.folder = join(dir, 'app');
    this.socket = join(dir, 'tmux');
    mkdirSync(join(this.home, '.claude'), { recursive: true });
    mkdirSync(this.folder);
    this.folder = realpathSync(this.folder);
    this.#env = {
      PATH: process.env['PATH'] ?? '/usr/bin:/bin',
      HOME: this.home,
      CLAUDE_CONFIG_DIR: join(this.home, '.claude'),
      TERM: 'xterm-256color',
      LANG: 'C.UTF-8',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      ANTHROPIC_API_KEY: 'fake',
      ...env,
    };
    this.#answerQuestions();
  }

  /** What Claude Code asks at its first start in a home and in a folder. */
  #answerQuestions(): void {
    const answered = {
      hasCompletedOnboarding: true,
      theme: 'dark',
      customApiKeyResponses: { approved: ['fake'], rejected: [] },
      projects: { [this.folder]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } },
    };
    writeFileSync(join(this.home, '.claude', '.claude.json'), JSON.stringify(answered));
    writeFileSync(this.settingsPath, JSON.stringify({ permissions: { allow: ['Bash'] } }));
  }

  get settingsPath(): string {
    return join(this.home, '.claude', 'settings.json');
  }
  get transcripts(): string {
    return join(this.home, '.claude', 'projects');
  }
  /** The environment that chats run in. */
  get env(): Record<string, string> {
    return { ...this.#env };
  }

  /** Starts a chat in a tmux session that bears its id. */
  async open(): Promise<TerminalChat> {
    const id = randomUUID();
    const variables = Object.entries(this.#env).map(([name, value]) => `${name}=${value}`);
    const claude = [CLAUDE, '--model', 'claude-sonnet-4-5', '--session-id', id];
    const size = ['-x', '120', '-y', '40', '-c', this.folder];
    await this.tmux('-f', '/dev/null', 'new-session', '-d', '-s', id, ...size, 'env', '-i', ...variables, ...claude);
    const chat = new TerminalChat(this, id);
    await chat.shows('manual mode on');
    return chat;
  }

  async tmux(...args: string[]): Promise<string> {
    return (await run('tmux', ['-S', this.socket, ...args])).stdout;
  }

  /** Ends every chat, and waits for the processes: they go on writing for a while. */
  async close(): Promise<void> {
    // There is no server where no chat was opened, or the last has ended.
    const panes = await this.tmux('list-panes', '-a', '-F', '#{pane_pid}').catch(() => '');
    if (panes === '') return;
    await this.tmux('kill-server');
    const processes = panes
      .trim()
      .split('\n')
      .map((pid) => identify(Number(pid)));
    await eventually(() => !processes.some((process) => isAlive(process)), PATIENCE);
  }
}

export class TerminalChat {
  readonly sessionId: string;
  readonly #terminal: Terminal;

  constructor(terminal: Terminal, sessionId: string) {
    this.#terminal = terminal;
    this.sessionId = sessionId;
  }

  get #pane(): string {
    return `=${this.sessionId}:`;
  }
  async screen(): Promise<string> {
    return this.#terminal.tmux('capture-pane', '-p', '-t', this.#pane);
  }
  async shows(text: string): Promise<void> {
    await eventually(async () => (await this.screen()).includes(text), {
      ...PATIENCE,
      what: `the screen to show ${text}`,
    });
  }
  async press(...keys: string[]): Promise<void> {
    await this.#terminal.tmux('send-keys', '-t', this.#pane, ...keys);
  }
  async say(text: string): Promise<void> {
    await this.press('-l', text);
    await this.press('Enter');
  }

  /** A turn that starts a background shell and ends. */
  async startShell(): Promise<void> {
    await this.say('BG::sleep 600');
    await this.shows('1 shell still running');
  }
  /** Stops it by the list of tasks: nothing wakes the chat. */
  async stopShell(): Promise<void> {
    await this.press('Down');
    await this.shows('enter to view tasks');
    await this.press('Enter');
    await this.shows('x to stop');
    await this.press('x');
    await eventually(() => this.lines().some((line) => line.includes('<status>killed</status>')), PATIENCE);
  }

  async pid(): Promise<number> {
    return Number(await this.#terminal.tmux('display-message', '-p', '-t', this.#pane, '#{pane_pid}'));
  }

  get transcriptPath(): string | undefined {
    const { transcripts } = this.#terminal;
    if (!existsSync(transcripts)) return undefined;
    const paths = readdirSync(transcripts).map((name) => join(transcripts, name, `${this.sessionId}.jsonl`));
    return paths.find((path) => existsSync(path));
  }
  lines(): string[] {
    const path = this.transcriptPath;
    return path === undefined ? [] : readFileSync(path, 'utf8').split('\n');
  }
}
