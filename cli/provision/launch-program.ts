import { spawn, type ChildProcess } from 'node:child_process';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from './free-port.ts';
import type { RedisFound } from './found.ts';
import { serverArguments, type LaunchOptions, type RunningRedis } from './running.ts';

const READY_WITHIN_MS = 30_000;
const STOP_WITHIN_MS = 5_000;
/** Another program may take a port between our looking and the server's. */
const PORT_TRIES = 5;

type Program = Extract<RedisFound, { kind: 'program' }>;

/** Starts the server program and waits until it takes connections. */
export async function launchProgram(program: Program, options: LaunchOptions): Promise<RunningRedis> {
  for (let attempt = 1; ; attempt += 1) {
    const port = options.port ?? (await freePort());
    const server = start(program, port, options);
    const outcome = await untilReady(server);
    if (outcome === undefined) return running(server, program, port);
    const taken = outcome.includes('Address already in use');
    if (!taken || options.port !== undefined || attempt === PORT_TRIES) {
      throw new Error(`${basename(program.path)} did not start on port ${port}: ${outcome}`);
    }
  }
}

function start(program: Program, port: number, { dir, durable }: LaunchOptions): ChildProcess {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--daemonize', 'no'];
  const libraries = program.libraryPath === undefined ? {} : { LD_LIBRARY_PATH: program.libraryPath };
  return spawn(program.path, [...args, ...serverArguments(durable)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...libraries },
    // Ctrl-C in a terminal reaches the whole group: the server must not end before those who use it.
    detached: true,
  });
}

/** `undefined` once it is ready; its last words where it ended before. */
async function untilReady(server: ChildProcess): Promise<string | undefined> {
  const lastWords: string[] = [];
  return new Promise((resolve) => {
    const giveUp = setTimeout(() => {
      server.kill('SIGKILL');
      settle(`not ready within ${READY_WITHIN_MS} ms`);
    }, READY_WITHIN_MS);
    const settle = (outcome: string | undefined): void => {
      clearTimeout(giveUp);
      resolve(outcome);
    };
    for (const stream of [server.stdout, server.stderr]) {
      if (stream === null) continue;
      // Read to the end: a full pipe would stop the server.
      createInterface({ input: stream }).on('line', (line) => {
        if (lastWords.push(line) > 5) lastWords.shift();
        if (line.includes('eady to accept connections')) settle(undefined);
      });
    }
    server.once('error', (error) => settle(error.message));
    server.once('close', () => settle(lastWords.join(' ').trim() || 'it ended without a word'));
  });
}

function running(server: ChildProcess, program: Program, port: number): RunningRedis {
  const ended = new Promise<void>((resolve) => server.once('close', () => resolve()));
  // Should this process end without a `stop` (an uncaught error), the server goes with it.
  const onExit = (): void => void server.kill('SIGTERM');
  process.once('exit', onExit);
  server.once('close', () => process.off('exit', onExit));

  const stop = async (): Promise<void> => {
    if (server.exitCode !== null || server.signalCode !== null) return;
    server.kill('SIGTERM');
    const force = setTimeout(() => server.kill('SIGKILL'), STOP_WITHIN_MS);
    await ended;
    clearTimeout(force);
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    description: `${basename(program.path)} (process ${server.pid})`,
    pid: server.pid,
    ended,
    stop,
  };
}
