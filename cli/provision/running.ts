import type { Run } from './run.ts';

export interface LaunchOptions {
  /** Existing folder for its files. */
  dir: string;
  /** Append-only file with `appendfsync always`: nothing that was answered is lost. Otherwise nothing is kept at all. */
  durable: boolean;
  /** Loopback port; any free one when left out. */
  port?: number;
  run: Run;
}

/** A Redis to work with; `stop` ends it only where it was started here. */
export interface RunningRedis {
  url: string;
  /** For people: `redis-server (process 4711)`. */
  description: string;
  /** Process id, where it is a process that was started here. */
  pid: number | undefined;
  /** Settles when it ends, by itself or by `stop`. Never, where it is somebody else's. */
  ended: Promise<void>;
  /** Ends it in good order (a durable one has written everything). Idempotent. */
  stop(): Promise<void>;
}

/** The server's own settings, the same for a process and a container. */
export function serverArguments(durable: boolean): string[] {
  const persistence = durable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : ['--appendonly', 'no'];
  return ['--save', '', ...persistence, '--maxmemory-policy', 'noeviction'];
}
