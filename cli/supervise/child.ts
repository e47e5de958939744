import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { nodeArguments } from '../checkout.ts';

const STOP_WITHIN_MS = 15_000;

export interface ChildSpec {
  /** For people: `worker 2`. */
  name: string;
  /** One of our programs: `services/watcher/main`. */
  entry: string;
  /** Its whole environment. */
  env: NodeJS.ProcessEnv;
  /** Each line that it writes. */
  onLine: (line: string, name: string) => void;
}

/** Something that runs until it ends or is stopped. */
export interface Running {
  pid: number | undefined;
  /** Settles at its end, with how it ended in words. */
  ended: Promise<string>;
  /** Asks it to end and waits. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts one of our programs as a child process.
 *
 * It gets a session of its own, so that Ctrl-C reaches only us and we end things in order; over the channel to us it
 * notices when we are gone and ends by itself.
 */
export function spawnChild({ name, entry, env, onLine }: ChildSpec): Running {
  const child = spawn(process.execPath, nodeArguments(entry), {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
  for (const stream of [child.stdout, child.stderr]) {
    if (stream !== null) createInterface({ input: stream }).on('line', (line) => onLine(line, name));
  }
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal === null ? `exit status ${code}` : `signal ${signal}`));
  });
  return {
    pid: child.pid,
    ended,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      const force = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
      await ended;
      clearTimeout(force);
    },
  };
}
