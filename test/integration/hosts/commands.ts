import { spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { commandEnvironment } from '#shared/session-api/exec/environment.js';
import { createExecDriver, type ExecDriverOptions } from '#shared/session-api/exec/exec-driver.js';
import type { SessionDriver } from '#shared/session-api/driver.js';
import { sessionProcesses, type SessionProcesses } from '#shared/liveness/session-processes.js';
import { eventually } from '../../support/events.ts';
import { test as base } from '../../support/leaks.ts';

/** A session with its folder and transcript, and the commands and processes of a test around it. */
export class Desk {
  readonly root = realpathSync(mkdtempSync(join(tmpdir(), 'exec-')));
  readonly sessionId = randomUUID();
  readonly cwd = join(this.root, 'work');
  readonly transcriptPath = join(this.root, `${this.sessionId}.jsonl`);
  readonly processes: SessionProcesses = sessionProcesses(join(this.root, 'session-processes'));
  readonly logged: { message: string; fields: Record<string, unknown> }[] = [];
  readonly #drivers: SessionDriver[] = [];
  readonly #children: ChildProcess[] = [];

  constructor() {
    mkdirSync(this.cwd);
    writeFileSync(
      this.transcriptPath,
      `${JSON.stringify({ type: 'user', cwd: this.cwd, sessionId: this.sessionId })}\n`,
    );
  }

  get place() {
    return { project: 'p1', transcriptPath: this.transcriptPath };
  }

  get nudge() {
    const text = '[Paddock recovery] It’s "$(date)"; go on.\nSecond line.';
    return { sessionId: this.sessionId, text, label: 'Paddock recovery', idempotencyKey: 'k', place: this.place };
  }

  /** A program of the test's own, run by sh. */
  script(name: string, text: string): string {
    const path = join(this.root, name);
    writeFileSync(path, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  driver(options: Partial<ExecDriverOptions> & Pick<ExecDriverOptions, 'send'>): SessionDriver {
    const told = (fields: object, message: string) =>
      void this.logged.push({ message, fields: fields as Record<string, unknown> });
    const driver = createExecDriver({
      status: undefined,
      into: 'resume',
      env: commandEnvironment({ PATH: process.env['PATH'], ADMIN_TOKEN: 'hush', SHOWN: 'yes' }, ['SHOWN']),
      timeoutMs: 2_000,
      turnTimeoutMs: 20_000,
      folder: join(this.root, 'exec'),
      processes: this.processes,
      log: { info: told, warn: told },
      startedAfterMs: 200,
      ...options,
    });
    this.#drivers.push(driver);
    return driver;
  }

  state(driver: SessionDriver) {
    return driver.state(this.sessionId, undefined, this.place);
  }

  /** A process that lives until the test ends or `end` is called. */
  async process(program: string, args: string[], cwd = this.root): Promise<{ pid: number; end: () => Promise<void> }> {
    const child = spawn(program, args, { cwd, stdio: 'ignore' });
    this.#children.push(child);
    await new Promise((resolve) => child.once('spawn', resolve));
    return { pid: child.pid ?? 0, end: () => ended(child) };
  }

  read(name: string): string {
    return readFileSync(join(this.root, name), 'utf8');
  }

  has(name: string): boolean {
    return existsSync(join(this.root, name));
  }

  write(text: string): void {
    appendFileSync(this.transcriptPath, text);
  }

  async close(): Promise<void> {
    for (const driver of this.#drivers) await driver.close();
    await Promise.all(this.#children.map((child) => ended(child)));
    // What a driver started lives on by design: its own scripts end by this file.
    writeFileSync(join(this.root, 'stop'), '');
    await eventually(() => !this.has('running'), { what: 'the test’s commands to end' });
    rmSync(this.root, { recursive: true, force: true });
  }

  /** A command that notes how it was called, then runs until the test lets it end. */
  lasting(name = 'claude'): string {
    const note = `printf '%s\\n' "$0" "$@" > ${this.root}/called; env > ${this.root}/env; pwd > ${this.root}/pwd`;
    return this.script(
      name,
      `${note}; echo $$ > ${this.root}/running
n=0; while [ ! -e ${this.root}/stop ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done
echo the reply; rm -f ${this.root}/running`,
    );
  }

  letEnd(): void {
    writeFileSync(join(this.root, 'stop'), '');
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await exit;
}

export const test = base.extend<{ desk: Desk }>({
  desk: async ({ leaks: _leaks }, use) => {
    const desk = new Desk();
    await use(desk);
    await desk.close();
  },
});
