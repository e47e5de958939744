import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** The repository's folder. */
export const ROOT = fileURLToPath(new URL('../../', import.meta.url));

const READY_WITHIN_MS = 20_000;
const FROM_SOURCE = ['--import', 'tsx', '--conditions=source'];

export interface ProcessOptions {
  /** Entry file relative to the repository, e.g. `services/watcher/main.ts`. */
  file: string;
  /** Folder of the sources, where they are not the repository's own. */
  root?: string;
  args?: readonly string[];
  /** What Node itself is told; by default how to run sources. */
  node?: readonly string[];
  /** Its whole environment beside PATH and HOME: nothing of the test process leaks in. */
  env?: Record<string, string>;
  /** The line that says it is ready; `undefined`: do not wait. Default: one that says `listening` or `ready`. */
  ready?: RegExp | undefined;
  readyWithinMs?: number;
}

/** One of our programs as a real process, run from source. */
export interface TestProcess {
  pid: number;
  /** Every line that it wrote so far, standard output and error in the order of arrival. */
  readonly lines: readonly string[];
  /** The line that said it was ready. */
  readonly readyLine: string;
  /** Settles at its end. */
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** The first line, written already or yet to come, that matches; rejects at the deadline or at its end. */
  line(pattern: RegExp, timeoutMs?: number): Promise<string>;
  /** Sends a signal and does not wait. */
  signal(name: NodeJS.Signals): void;
  /** Sends a signal (SIGTERM) and waits for the end. A second call waits for the same end. */
  stop(name?: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** Starts a program and waits until it is ready; its whole output is in the error where it is not. */
export async function startProcess(options: ProcessOptions): Promise<TestProcess> {
  const child = spawn(process.execPath, [...(options.node ?? FROM_SOURCE), options.file, ...(options.args ?? [])], {
    cwd: options.root ?? ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TMPDIR: process.env['TMPDIR'], ...options.env },
  });
  const started = track(child, options.file);
  const ready = 'ready' in options ? options.ready : /listening|ready/i;
  if (ready === undefined) return started;
  try {
    started.readyLine = await started.line(ready, options.readyWithinMs ?? READY_WITHIN_MS);
    return started;
  } catch (error) {
    await started.stop('SIGKILL');
    throw error;
  }
}

function track(child: ChildProcess, file: string): TestProcess & { readyLine: string } {
  const lines: string[] = [];
  const waiting = new Set<(line: string) => void>();
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (text) => {
      lines.push(text);
      for (const look of waiting) look(text);
    });
  }
  return {
    pid: child.pid ?? 0,
    lines,
    readyLine: '',
    exited,
    line: (pattern, timeoutMs = 10_000) => waitForLine({ file, lines, waiting, exited, pattern, timeoutMs }),
    signal: (name) => void child.kill(name),
    async stop(name = 'SIGTERM') {
      if (child.exitCode === null && child.signalCode === null) child.kill(name);
      return exited;
    },
  };
}

interface LineWait {
  file: string;
  lines: readonly string[];
  waiting: Set<(line: string) => void>;
  exited: Promise<unknown>;
  pattern: RegExp;
  timeoutMs: number;
}

function waitForLine({ file, lines, waiting, exited, pattern, timeoutMs }: LineWait): Promise<string> {
  const found = lines.find((text) => pattern.test(text));
  if (found !== undefined) return Promise.resolve(found);
  return new Promise((resolve, reject) => {
    const settle = (finish: () => void): void => {
      clearTimeout(timer);
      waiting.delete(look);
      finish();
    };
    const fail = (why: string): void =>
      settle(() => reject(new Error(`${file} ${why} ${String(pattern)}. Its output:\n${lines.join('\n')}`)));
    const look = (text: string): void => {
      if (pattern.test(text)) settle(() => resolve(text));
    };
    const timer = setTimeout(() => fail(`wrote within ${timeoutMs} ms no line like`), timeoutMs);
    waiting.add(look);
    void exited.then(() => fail('ended before it wrote a line like'));
  });
}
