import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify } from '#shared/liveness/process-id.js';
import { ROOT } from '../../support/processes.ts';
import { describe, expect, test as base } from '../../support/leaks.ts';

const CLI = ['--import', 'tsx', '--conditions=source', 'cli/main.ts', 'hooks'];
const SCRIPT = join(ROOT, 'cli/hooks/session-start.mjs');

class Home {
  readonly dir = mkdtempSync(join(tmpdir(), 'hooks-home-'));
  readonly settings = join(this.dir, 'settings.json');

  hooks(...args: string[]) {
    const env = { PATH: process.env['PATH'], HOME: this.dir, CLAUDE_CONFIG_DIR: this.dir };
    return spawnSync(process.execPath, [...CLI, ...args], { cwd: ROOT, encoding: 'utf8', env, input: '' });
  }
  text(): string {
    return readFileSync(this.settings, 'utf8');
  }
}

const test = base.extend<{ home: Home }>({
  home: async ({ leaks: _leaks }, use) => {
    const home = new Home();
    await use(home);
    rmSync(home.dir, { recursive: true, force: true });
  },
});

describe('chat-recovery hooks', () => {
  test('install, again, remove: the file is as it was, its mode and its link too, and a copy is kept', ({ home }) => {
    const real = join(home.dir, 'dotfiles.json');
    const before = '{\n    "model": "opus",\n    "hooks": {"Stop": []}\n}\n';
    writeFileSync(real, before);
    chmodSync(real, 0o600);
    symlinkSync(real, home.settings);
    const installed = home.hooks('install', '--yes');
    expect([installed.status, installed.stderr]).toEqual([0, '']);
    expect(installed.stdout).toMatch(/\+ .*claude-code/);
    expect(readFileSync(`${real}.before-chat-recovery`, 'utf8')).toBe(before);
    expect(lstatSync(home.settings).isSymbolicLink()).toBe(true);
    expect(statSync(real).mode & 0o777).toBe(0o600);
    expect(existsSync(join(home.dir, 'hooks', 'chat-recovery-session-start.mjs'))).toBe(true);
    const text = home.text();
    expect(home.hooks('install', '--yes').stdout).toBe('Nothing to change.\n');
    expect(home.text()).toBe(text);
    expect(home.hooks('remove', '--yes').status).toBe(0);
    expect(JSON.parse(home.text())).toEqual({ model: 'opus' });
    expect(existsSync(join(home.dir, 'hooks', 'chat-recovery-session-start.mjs'))).toBe(false);
  });

  test('a dry run, and no terminal to ask at, change nothing', ({ home }) => {
    expect(home.hooks('install', '--dry-run').status).toBe(0);
    const unasked = home.hooks('install');
    expect([unasked.status, unasked.stderr]).toEqual([
      1,
      'Nothing was changed: there is no terminal to ask at. Add --yes.\n',
    ]);
    expect(existsSync(home.settings)).toBe(false);
  });

  test.for(['{"model": "opus",}', '[]', '{"hooks": 3}'])('%s is named and never written over', (text, { home }) => {
    writeFileSync(home.settings, text);
    const { status, stderr } = home.hooks('install', '--yes');
    expect(status).toBe(1);
    expect(stderr).toContain(home.settings);
    expect(home.text()).toBe(text);
  });

  test('for a project its own settings', ({ home }) => {
    const project = join(home.dir, 'app');
    mkdirSync(project);
    expect(home.hooks('install', '--yes', '--project', project, '--token-env', 'TOKEN').status).toBe(0);
    expect(readFileSync(join(project, '.claude', 'settings.json'), 'utf8')).toContain('"Bearer $TOKEN"');
    expect(existsSync(home.settings)).toBe(false);
  });

  test('status says what is there, and that no watcher answers', ({ home }) => {
    expect(home.hooks('status')).toMatchObject({ status: 1, stdout: expect.stringContaining('not installed') });
    home.hooks('install', '--yes', '--url', 'http://127.0.0.1:9');
    const { status, stdout } = home.hooks('status');
    expect([status, stdout.includes('No watcher answers at http://127.0.0.1:9')]).toEqual([1, true]);
  });
});

/** Runs the script as Claude Code does. */
function tell(
  url: string,
  env: Record<string, string>,
  input: string,
): Promise<{ code: number | null; output: string; tookMs: number }> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [SCRIPT, url, 'TOKEN'], { env, stdio: ['pipe', 'pipe', 'pipe'] });
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  child.stderr.on('data', (chunk) => (output += String(chunk)));
  child.stdin.end(input);
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ code, output, tookMs: performance.now() - startedAt }));
  });
}

describe('the command of the SessionStart hook', () => {
  const payload = JSON.stringify({ hook_event_name: 'SessionStart', source: 'startup' });

  test('sends the payload with Claude Code’s process, and says nothing', async ({ leaks: _leaks }) => {
    const heard: { body: unknown; authorization: string | undefined }[] = [];
    const server = createServer((req, res) => {
      let body = '';
      req.on('data', (chunk) => (body += String(chunk)));
      req.on('end', () => {
        heard.push({ body: JSON.parse(body), authorization: req.headers.authorization });
        res.end('{"decision":"block"}');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const ended = await tell(url, { CLAUDE_PID: String(process.pid), TOKEN: 'secret' }, payload);
    expect(ended).toMatchObject({ code: 0, output: '' });
    expect(heard).toEqual([
      {
        body: { hook_event_name: 'SessionStart', source: 'startup', claude_process: identify(process.pid) },
        authorization: 'Bearer secret',
      },
    ]);
    await new Promise((resolve) => server.close(resolve));
  });

  test.for([
    ['nobody is there', 'http://127.0.0.1:9/', payload],
    ['the address is none', 'nonsense', payload],
    ['there is no payload', 'http://127.0.0.1:9/', ''],
  ] as const)('ends with 0 and says nothing where %s', async ([, url, input], { leaks: _leaks }) => {
    expect(await tell(url, {}, input)).toMatchObject({ code: 0, output: '' });
  });

  test('waits for no answer longer than two seconds', async ({ leaks: _leaks }) => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const ended = await tell(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, {}, payload);
    expect(ended).toMatchObject({ code: 0, output: '' });
    expect(ended.tookMs).toBeLessThan(3_000);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
});
