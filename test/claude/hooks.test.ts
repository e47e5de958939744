import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { freePort, nudgesIn } from '../support/deployment.ts';
import { eventually, eventuallyPasses } from '../support/events.ts';
import { startFakeMessagesApi, type FakeMessagesApi } from '../support/fake-messages-api.ts';
import { codeBlocks } from '../support/host-pages.ts';
import { ROOT, startProcess, type TestProcess } from '../support/processes.ts';
import { describe, expect, test as redisTest, type RedisFixture } from '../support/redis.ts';
import { CLAUDE, hasTmux, Terminal, type TerminalChat } from './terminal.ts';

const PATIENCE = { timeoutMs: 90_000 };
const HOOK_TOKEN = 'hook-token-that-stands-nowhere';
const ADMIN_TOKEN = 'admin-token-of-a-test';
const VARIABLE = 'CHAT_RECOVERY_TOKEN';

interface Session {
  state: string;
  trail: { kind: string; reason?: string }[];
}

/** A watcher, a worker and a person's terminal, connected by `hooks install` alone. */
class World {
  readonly dir = realpathSync(mkdtempSync(join(tmpdir(), 'claude-hooks-')));
  readonly terminal: Terminal;
  readonly #redis: RedisFixture;
  readonly #port: number;
  readonly #services: TestProcess[] = [];

  constructor(redis: RedisFixture, model: FakeMessagesApi, port: number) {
    this.#redis = redis;
    this.#port = port;
    this.terminal = new Terminal(this.dir, { ANTHROPIC_BASE_URL: model.url, [VARIABLE]: HOOK_TOKEN });
  }

  hooks(...args: string[]): string {
    const cli = ['--import', 'tsx', '--conditions=source', 'cli/main.ts', 'hooks', ...args];
    return execFileSync(process.execPath, cli, { cwd: ROOT, encoding: 'utf8', env: this.terminal.env });
  }
  install(): void {
    this.hooks('install', '--yes', '--url', this.url, '--token-env', VARIABLE);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async startServices(driver: Record<string, string>): Promise<void> {
    const env = {
      REDIS_URL: this.#redis.url,
      REDIS_HASH_TAG: this.#redis.tag,
      PORT: String(this.#port),
      DATA_DIR: join(this.dir, 'data'),
      TRANSCRIPT_ROOTS: this.terminal.transcripts,
      ADMIN_TOKEN,
      HOOK_TOKEN,
      SESSION_API_DRIVER: 'exec',
      PADDOCK_RECOVERY_AUTODRIVE: '1',
      PADDOCK_RECOVERY_DEBOUNCE_MS: '2000',
      RECOVERY_SETTLE_MS: '0',
      ...driver,
    };
    const files = ['services/watcher/main.ts', 'services/recovery-worker/main.ts'];
    this.#services.push(...(await Promise.all(files.map((file) => startProcess({ file, env })))));
  }

  async session({ sessionId }: TerminalChat): Promise<Session | undefined> {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}` };
    const answer = await fetch(`${this.url}/v1/sessions/${sessionId}`, { headers });
    return answer.ok ? ((await answer.json()) as Session) : undefined;
  }
  async reaches(chat: TerminalChat, state: string): Promise<void> {
    await eventuallyPasses(async () => expect((await this.session(chat))?.state).toBe(state), PATIENCE);
  }
  async trail(chat: TerminalChat): Promise<string[]> {
    const { trail = [] } = (await this.session(chat)) ?? {};
    return trail.map(({ kind, reason }) => `${kind}${reason === undefined ? '' : `: ${reason}`}`);
  }

  async close(): Promise<void> {
    await this.terminal.close();
    await Promise.all(this.#services.map((service) => service.stop()));
    rmSync(this.dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

const test = redisTest.extend<{ world: World; model: FakeMessagesApi }>({
  model: async ({ leaks: _leaks }, use) => {
    const model = await startFakeMessagesApi();
    await use(model);
    await model.close();
  },
  world: async ({ redis, model }, use) => {
    const world = new World(redis, model, await freePort());
    await use(world);
    await world.close();
  },
});

/** The commands of docs/hosts/tmux.md, with this test's own tmux. */
function typingInto({ dir, terminal }: World): Record<string, string> {
  const tmux = ['tmux', '-S', terminal.socket];
  const [script = ''] = codeBlocks('tmux.md', 'sh').filter((block) => block.startsWith('#!'));
  const status = join(dir, 'chat-status');
  writeFileSync(status, script.replaceAll(/\btmux (?=has|capture)/g, `${tmux.join(' ')} `));
  chmodSync(status, 0o755);
  return {
    SESSION_API_INTO: 'live',
    SESSION_API_SEND: JSON.stringify([...tmux, ...sendingOnPage()]),
    SESSION_API_STATUS: JSON.stringify([status, '{sessionId}']),
  };
}

/** The arguments of the page's `send`, behind `tmux`. */
function sendingOnPage(): unknown[] {
  const { chatServers } = parse(codeBlocks('tmux.md', 'yaml')[0] ?? '') as {
    chatServers: { sessionApi: { send: unknown[] } }[];
  };
  return chatServers[0]?.sessionApi.send.slice(1) ?? [];
}

const RESUMING = {
  SESSION_API_SEND: JSON.stringify([
    CLAUDE,
    '-p',
    '--model',
    'claude-sonnet-4-5',
    '--resume',
    '{sessionId}',
    '{nudge}',
  ]),
  SESSION_API_PASS_ENV: `ANTHROPIC_BASE_URL,ANTHROPIC_API_KEY,CLAUDE_CONFIG_DIR,${VARIABLE}`,
};

describe.skipIf(!hasTmux)('real Claude Code in a terminal, with hooks installed', () => {
  test('a chat whose background shell is stopped is shown, and nudged in its terminal; one that is fine is left alone', async ({
    world,
  }) => {
    world.install();
    await world.startServices(typingInto(world));
    expect(world.hooks('status')).toContain('takes them');
    const [hung, fine] = [await world.terminal.open(), await world.terminal.open()];
    await Promise.all([hung.startShell(), fine.startShell()]);
    await Promise.all([world.reaches(hung, 'watching'), world.reaches(fine, 'watching')]);
    await hung.stopShell();
    await world.reaches(hung, 'recovered');

    expect(nudgesIn(hung.transcriptPath ?? '')).toBe(1);
    const trail = await world.trail(hung);
    expect(trail).toEqual(expect.arrayContaining(['killed-task', 'nudged', 'recovered']));
    expect(await world.trail(fine)).not.toContain('killed-task');
    expect(nudgesIn(fine.transcriptPath ?? '')).toBe(0);
    const written = [...hung.lines(), ...fine.lines()].join('\n');
    expect(written).not.toContain('hook_non_blocking_error');
    expect(written).not.toContain(HOOK_TOKEN);
  });

  test('with no watcher there, chats go on undisturbed', async ({ world }) => {
    world.install();
    const chat = await world.terminal.open();
    const startedAt = performance.now();
    await chat.startShell();
    await chat.say('And now?');
    await chat.shows('continuing in the foreground');
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(chat.lines().filter((line) => line.includes('"type":"assistant"')).length).toBeGreaterThanOrEqual(3);
  });

  test('the exec driver refuses while the session’s process lives, says so, and resumes it once that is dead', async ({
    world,
  }) => {
    world.install();
    const { env } = world.terminal;
    await world.startServices({
      ...RESUMING,
      ...Object.fromEntries(RESUMING.SESSION_API_PASS_ENV.split(',').map((name) => [name, env[name] ?? ''])),
    });
    const chat = await world.terminal.open();
    await chat.startShell();
    await world.reaches(chat, 'watching');
    await chat.stopShell();
    await eventually(async () => (await world.trail(chat)).includes('deferred: process-alive'), PATIENCE);
    expect(nudgesIn(chat.transcriptPath ?? '')).toBe(0);

    process.kill(await chat.pid(), 'SIGKILL');
    await world.reaches(chat, 'recovered');
    expect(nudgesIn(chat.transcriptPath ?? '')).toBe(1);
  });
});
