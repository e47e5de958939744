import { spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { open, readFile, stat, truncate } from 'node:fs/promises';
import { once } from 'node:events';
import { killGroup } from './run.ts';

/** A command that runs a whole turn and is to outlive this process. */
export interface Launched {
  pid: number;
  /** Settles at its end. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  /** The last it wrote. */
  output(): Promise<string>;
  /** Cuts the file that it writes to where it has grown too long. */
  trimOutput(): Promise<void>;
  /** Asks it and everything that it started to end, then insists. */
  end(): void;
  /** This process may end before it does. */
  letGo(): void;
}

export interface LaunchOptions {
  cwd: string | undefined;
  env: Record<string, string>;
  /** Both its outputs; begun anew. A file and no pipe: a pipe ends with this process, and the command with the pipe. */
  outputPath: string;
}

const MAX_OUTPUT_BYTES = 1024 * 1024;
const SHOWN_BYTES = 2_000;
const INSIST_AFTER_MS = 10_000;

/** Starts a command in a process group of its own, without a shell. Rejects with the system's error where it cannot be started. */
export async function launch(args: readonly string[], options: LaunchOptions): Promise<Launched> {
  const [program = '', ...rest] = args;
  const flags = constants.O_CREAT | constants.O_TRUNC | constants.O_WRONLY | constants.O_APPEND;
  const output = await open(options.outputPath, flags, 0o600);
  try {
    const child = spawn(program, rest, {
      cwd: options.cwd,
      env: options.env,
      stdio: ['ignore', output.fd, output.fd],
      detached: true,
    });
    const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) => {
      child.once('exit', (code, signal) => resolve({ code, signal }));
    });
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    return {
      pid,
      ended,
      output: async () => (await readFile(options.outputPath, 'utf8')).slice(-SHOWN_BYTES).trim(),
      async trimOutput() {
        // It appends: what it writes next begins at the new end.
        if ((await stat(options.outputPath)).size > MAX_OUTPUT_BYTES) await truncate(options.outputPath, 0);
      },
      end() {
        killGroup(pid, 'SIGTERM');
        const insist = setTimeout(() => killGroup(pid, 'SIGKILL'), INSIST_AFTER_MS);
        void ended.then(() => clearTimeout(insist));
        insist.unref();
      },
      letGo: () => child.unref(),
    };
  } finally {
    await output.close();
  }
}
