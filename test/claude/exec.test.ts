import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claudeEnvironment } from '../../examples/chat-server/claude-environment.ts';
import { sessionProcesses } from '#shared/liveness/session-processes.js';
import { createExecDriver } from '#shared/session-api/exec/exec-driver.js';
import { defaultPath } from '#shared/transcript/locate.js';
import { eventually } from '../support/events.ts';
import { startFakeMessagesApi } from '../support/fake-messages-api.ts';
import { describe, expect, test as base } from '../support/leaks.ts';
import { ROOT } from '../support/processes.ts';

const CLAUDE = join(
  ROOT,
  `examples/chat-server/node_modules/@anthropic-ai/claude-agent-sdk-${process.platform}-${process.arch}/claude`,
);
const PATIENCE = { timeoutMs: 60_000 };

/** Real Claude Code with one session, whose id is not on its command line: it is found by its folder alone. */
class RealSession {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'claude-exec-')));
  readonly cwd = join(this.root, 'work');
  readonly env: Record<string, string>;
  sessionId = '';
  #child: ChildProcess | undefined;

  constructor(baseUrl: string) {
    mkdirSync(this.cwd);
    this.env = claudeEnvironment(
      { apiKey: 'fake', baseUrl, permissionMode: 'bypassPermissions' },
      join(this.root, 'home'),
    );
  }

  get transcriptPath(): string {
    return defaultPath(join(this.root, 'home'), this.cwd, this.sessionId);
  }

  get entries(): string[] {
    return existsSync(this.transcriptPath) ? readFileSync(this.transcriptPath, 'utf8').trimEnd().split('\n') : [];
  }

  /** Begins a chat that launches background work, and waits for the end of its turn; the process lives on. */
  async begin(): Promise<void> {
    const options = ['-p', '--input-format', 'stream-json', '--output-format', 'stream-json', '--verbose'];
    const child = spawn(CLAUDE, [...options, '--permission-mode', 'bypassPermissions'], {
      cwd: this.cwd,
      env: this.env,
    });
    this.#child = child;
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString('utf8')));
    const message = { type: 'user', message: { role: 'user', content: 'BG::sleep 600' }, parent_tool_use_id: null };
    child.stdin.write(`${JSON.stringify({ ...message, session_id: randomUUID() })}\n`);
    await eventually(() => output.includes('"type":"result"'), { ...PATIENCE, what: 'the end of the turn' });
    this.sessionId = /"session_id":"([0-9a-f-]{36})"/.exec(output)?.[1] ?? '';
  }

  /** As a host that shuts down does: the runtime ends the background work and writes so. */
  async stop(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await exited;
  }
}

const test = base.extend<{ session: RealSession }>({
  session: async ({ leaks: _leaks }, use) => {
    const model = await startFakeMessagesApi();
    const session = new RealSession(model.url);
    await use(session);
    await session.stop();
    await model.close();
    rmSync(session.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  },
});

describe('real Claude Code by the exec driver', () => {
  test('is not resumed while its process lives, though no hook told of it; once dead it is, and answers', async ({
    session,
  }) => {
    await session.begin();
    const log = { info: () => undefined, warn: () => undefined };
    const driver = createExecDriver({
      send: [CLAUDE, '-p', '--resume', '{sessionId}', '{nudge}', '--permission-mode', 'bypassPermissions'],
      status: undefined,
      into: 'resume',
      env: session.env,
      timeoutMs: 5_000,
      turnTimeoutMs: 60_000,
      folder: join(session.root, 'exec'),
      processes: sessionProcesses(join(session.root, 'session-processes')),
      log,
    });
    const place = { project: '', transcriptPath: session.transcriptPath };
    const nudge = {
      sessionId: session.sessionId,
      text: '[Paddock recovery] Go on.',
      label: 'Paddock recovery',
      idempotencyKey: 'k',
      place,
    };
    expect(await driver.state(session.sessionId, undefined, place)).toMatchObject({ busyCode: 'process_alive' });
    await expect(driver.send(nudge)).rejects.toThrow(/holds the session/);

    await session.stop();
    const killed = session.entries.length;
    expect(await driver.state(session.sessionId, undefined, place)).toMatchObject({ state: 'idle' });
    await driver.send(nudge);
    const after = (): string[] => session.entries.slice(killed);
    await eventually(
      () => after().some((line) => line.includes('"type":"assistant"') && !line.includes('<synthetic>')),
      {
        ...PATIENCE,
        what: 'the reply',
      },
    );
    expect(
      after().filter((line) => line.includes('"type":"user"') && line.includes('[Paddock recovery]')),
    ).toHaveLength(1);
    await eventually(async () => (await driver.state(session.sessionId, undefined, place))?.state === 'idle', PATIENCE);
    await driver.close();
  });
});
