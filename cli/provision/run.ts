import { execFile } from 'node:child_process';

export interface RunResult {
  /** Exit status; 127 where the program is not there, 124 where it was stopped at the deadline. */
  code: number;
  stdout: string;
  stderr: string;
}

export interface RunOptions {
  timeoutMs: number;
  cwd?: string;
  env?: NodeJS.ProcessEnv;
}

/** Runs a program to its end. Never rejects: what went wrong is in the result. */
export type Run = (program: string, args: readonly string[], options: RunOptions) => Promise<RunResult>;

export const run: Run = (program, args, { timeoutMs, cwd, env }) =>
  new Promise((resolve) => {
    const options = {
      timeout: timeoutMs,
      maxBuffer: 64 * 1024 * 1024,
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
    };
    execFile(program, args, options, (error, stdout, stderr) => {
      resolve({ code: exitCode(error), stdout, stderr });
    });
  });

function exitCode(error: (Error & { code?: unknown; killed?: boolean }) | null): number {
  if (error === null) return 0;
  if (error.killed === true) return 124;
  if (error.code === 'ENOENT') return 127;
  return typeof error.code === 'number' ? error.code : 1;
}
