import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { freePort } from '../../cli/provision/free-port.ts';
import type { RedisFound } from '../../cli/provision/found.ts';
import { launchProgram } from '../../cli/provision/launch-program.ts';
import type { RunningRedis } from '../../cli/provision/running.ts';
import { run } from '../../cli/provision/run.ts';

type Program = Extract<RedisFound, { kind: 'program' }>;

/** A Redis of a test's own, which it may stop, kill, freeze and start again on the same port and folder. */
export interface IsolatedRedis {
  url: string;
  port: number;
  /** Its folder (append-only file). */
  dir: string;
  /** SIGTERM, then waits for its end. */
  stop(): Promise<void>;
  /** SIGKILL: what was not written is lost. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open and nothing answers. */
  freeze(): void;
  thaw(): void;
  /** Starts it again after `stop` or `kill`. */
  start(): Promise<void>;
  /** Ends it and removes its folder. */
  close(): Promise<void>;
}

/** True where Redis is a program here, so that {@link isolatedRedis} works (not with `REDIS_URL` or a container). */
export function canIsolateRedis(): boolean {
  return inject('redisProgram') !== '';
}

/** Starts one. `durable`: append-only file, `appendfsync always`. `port`: one that was free when the test began. */
export async function isolatedRedis({
  durable = false,
  port,
}: { durable?: boolean; port?: number } = {}): Promise<IsolatedRedis> {
  const program = parseProgram(inject('redisProgram'));
  const dir = await mkdtemp(join(tmpdir(), 'chat-recovery-isolated-'));
  const fixedPort = port ?? (await freePort());
  const launch = (): Promise<RunningRedis> => launchProgram(program, { dir, durable, port: fixedPort, run });
  let server = await launch();
  const signal = (name: NodeJS.Signals): void => {
    if (server.pid !== undefined) process.kill(server.pid, name);
  };
  let running = true;
  const stop = async (): Promise<void> => {
    if (!running) return;
    running = false;
    signal('SIGCONT'); // a frozen one would not hear anything else
    await server.stop();
  };
  return {
    url: server.url,
    port: fixedPort,
    dir,
    stop,
    async kill() {
      running = false;
      signal('SIGKILL');
      await server.ended;
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    async start() {
      if (running) return;
      server = await launch();
      running = true;
    },
    async close() {
      await stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

function parseProgram(text: string): Program {
  const value: unknown = text === '' ? undefined : JSON.parse(text);
  if (typeof value !== 'object' || value === null || !('path' in value) || typeof value.path !== 'string') {
    throw new Error('This test needs a Redis program of its own (redis-server on PATH), not an address.');
  }
  const libraryPath = 'libraryPath' in value && typeof value.libraryPath === 'string' ? value.libraryPath : undefined;
  return { kind: 'program', path: value.path, libraryPath };
}
