import { spawn } from 'node:child_process';

/** How a command ended, or why it never ran. */
export type Ran =
  | { kind: 'ended'; code: number; stdout: string; stderr: string }
  | { kind: 'killed'; why: string; stdout: string; stderr: string }
  | { kind: 'not-started'; code: string; message: string };

export interface RunOptions {
  cwd: string | undefined;
  env: Record<string, string>;
  timeoutMs: number;
  signal?: AbortSignal | undefined;
}

/** More is read and thrown away: a command that floods its output must not fill this process. */
const MAX_OUTPUT_BYTES = 64 * 1024;

/** Runs a command to its end, without a shell. Never rejects; at the deadline its whole process group is killed. */
export function run(args: readonly string[], options: RunOptions): Promise<Ran> {
  const [program = '', ...rest] = args;
  return new Promise((resolve) => {
    const child = spawn(program, rest, {
      cwd: options.cwd,
      env: options.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, so that what it started ends with it.
      detached: true,
    });
    const stdout = collect(child.stdout);
    const stderr = collect(child.stderr);
    let why: string | undefined;
    const kill = (reason: string): void => {
      why ??= reason;
      if (child.pid !== undefined) killGroup(child.pid, 'SIGKILL');
    };
    const timer = setTimeout(() => kill('timeout'), options.timeoutMs);
    const aborted = (): void => kill('aborted');
    options.signal?.addEventListener('abort', aborted, { once: true });
    const finish = (ran: Ran): void => {
      clearTimeout(timer);
      options.signal?.removeEventListener('abort', aborted);
      resolve(ran);
    };
    child.once('error', (error: NodeJS.ErrnoException) => {
      if (child.pid === undefined) {
        finish({ kind: 'not-started', code: error.code ?? 'spawn_failed', message: error.message });
      }
    });
    child.once('close', (code, signal) => {
      const output = { stdout: stdout(), stderr: stderr() };
      if (child.pid === undefined) return;
      if (why !== undefined || code === null) finish({ kind: 'killed', why: why ?? String(signal), ...output });
      else finish({ kind: 'ended', code, ...output });
    });
    if (options.signal?.aborted === true) aborted();
  });
}

/** Ends a detached child and everything that it started. */
export function killGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch (error) {
    // It has ended by itself.
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

function collect(stream: NodeJS.ReadableStream): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  stream.on('data', (chunk: Buffer) => {
    if (size < MAX_OUTPUT_BYTES) chunks.push(chunk);
    size += chunk.length;
  });
  return () => Buffer.concat(chunks).subarray(0, MAX_OUTPUT_BYTES).toString('utf8');
}
