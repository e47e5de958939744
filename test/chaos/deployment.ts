import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { byDebian } from '../../cli/provision/by-debian.ts';
import { byPath } from '../../cli/provision/by-path.ts';
import { findRedis } from '../../cli/provision/find.ts';
import { launchProgram } from '../../cli/provision/launch-program.ts';
import type { RunningRedis } from '../../cli/provision/running.ts';
import { freePort } from '../../cli/provision/free-port.ts';
import { run } from '../../cli/provision/run.ts';
import { tcpProxy, type TcpProxy } from '../support/proxy.ts';
import {
  CAPS,
  CONFIRM_MS,
  DEBOUNCE_MS,
  SERVICES,
  SESSION_API_TIMEOUT_MS,
  SETTLE_MS,
  WAKE_GRACE_MS,
  WATCHERS,
  WORKERS,
  type ServiceName,
  type WorkerName,
} from './scale.ts';
import { Service } from './service.ts';
import type { Windows } from './windows.ts';

/** Redis, the services, and a proxy of its own on each of their wires. */
export interface Deployment {
  redis: ChaosRedis;
  services: Record<ServiceName, Service>;
  /** Between each service and Redis, and between each worker and the session API. */
  wires: { redis: Record<ServiceName, TcpProxy>; api: Record<WorkerName, TcpProxy> };
  watcherUrls: string[];
  close(): Promise<void>;
}

export interface DeploymentOptions {
  folder: string;
  /** Folder of the compiled services. */
  root: string;
  secret: string;
  sessionApiPort: number;
  windows: Windows;
}

export const TAG = 'chaos';

/** Starts everything but the services. */
export async function deploy(options: DeploymentOptions): Promise<Deployment> {
  const { folder, windows } = options;
  writeProjects(folder);
  const redis = await ChaosRedis.start(join(folder, 'redis'));
  const redisWires = await eachOf(SERVICES, (name) => tcpProxy({ port: redis.port }, windows.redisTap(name)));
  const apiWires = await eachOf(WORKERS, (name) => tcpProxy({ port: options.sessionApiPort }, windows.apiTap(name)));
  const ports = await eachOf(WATCHERS, () => freePort());
  const urls = WATCHERS.map((name) => `http://127.0.0.1:${ports[name]}`);
  const services = await eachOf(SERVICES, async (name) => {
    const worker = WORKERS.find((candidate) => candidate === name);
    const watcher = WATCHERS.find((candidate) => candidate === name);
    return new Service({
      name,
      root: options.root,
      log: join(folder, `${name}.log`),
      file: worker === undefined ? 'dist/services/watcher/main.js' : 'dist/services/recovery-worker/main.js',
      env: {
        ...environment(options),
        REDIS_URL: `redis://127.0.0.1:${redisWires[name].port}`,
        SESSION_API_URL: `http://127.0.0.1:${apiWires[worker ?? 'worker-1'].port}/${name}`,
        ...(watcher === undefined ? {} : { PORT: String(ports[watcher]) }),
      },
    });
  });
  return {
    redis,
    services,
    wires: { redis: redisWires, api: apiWires },
    watcherUrls: urls,
    async close() {
      await Promise.all(Object.values(services).map((service) => service.close()));
      await Promise.all([...Object.values(redisWires), ...Object.values(apiWires)].map((wire) => wire.close()));
      await redis.close();
    },
  };
}

function environment({ folder, secret }: DeploymentOptions): Record<string, string> {
  return {
    REDIS_HASH_TAG: TAG,
    WEBHOOK_SECRETS: secret,
    ADMIN_TOKEN: 'admin-token-of-the-chaos-run',
    PROJECTS_DIR: join(folder, 'projects'),
    TRANSCRIPT_ROOTS: join(folder, 'transcripts'),
    SESSION_API_TIMEOUT_MS: String(SESSION_API_TIMEOUT_MS),
    WAKE_GRACE_MS: String(WAKE_GRACE_MS),
    NUDGE_CONFIRM_MS: String(CONFIRM_MS),
    RECOVERY_SETTLE_MS: String(SETTLE_MS),
    RECOVERY_MAX_NUDGES_PER_HOUR: '0',
    RECOVERY_MAX_CONCURRENT: '0',
    WORKER_CONCURRENCY: '8',
  };
}

function writeProjects(folder: string): void {
  mkdirSync(join(folder, 'transcripts'), { recursive: true });
  for (const [project, maxRetries] of Object.entries(CAPS)) {
    mkdirSync(join(folder, 'projects', project), { recursive: true });
    const recovery = { autoReDrive: true, debounceMs: DEBOUNCE_MS, maxRetries };
    writeFileSync(join(folder, 'projects', project, 'project.yaml'), JSON.stringify({ recovery }));
  }
}

async function eachOf<K extends string, T>(names: readonly K[], make: (name: K) => Promise<T>): Promise<Record<K, T>> {
  const made = await Promise.all(names.map(async (name) => [name, await make(name)] as const));
  return Object.fromEntries(made) as Record<K, T>;
}

/** A Redis with an append-only file that is written before each answer, on one port for the whole run. */
export class ChaosRedis {
  readonly port: number;
  readonly #launch: () => Promise<RunningRedis>;
  #server: RunningRedis;
  #thaw: NodeJS.Timeout | undefined;
  #changing: Promise<void> = Promise.resolve();

  private constructor(port: number, launch: () => Promise<RunningRedis>, server: RunningRedis) {
    this.port = port;
    this.#launch = launch;
    this.#server = server;
  }

  static async start(folder: string): Promise<ChaosRedis> {
    mkdirSync(folder, { recursive: true });
    const found = await findRedis({ env: process.env, run, say: console.log }, [byPath, byDebian]);
    if (found.kind !== 'program') throw new Error('The chaos run needs a Redis program, not an address.');
    const port = await freePort();
    const launch = () => launchProgram(found, { dir: folder, durable: true, port, run });
    return new ChaosRedis(port, launch, await launch());
  }

  /** Ends it and starts it again after `awayMs`; what it answered is in its file. */
  restart(how: 'SIGTERM' | 'SIGKILL', awayMs: number): Promise<void> {
    this.#changing = this.#restart(this.#changing, how, awayMs);
    return this.#changing;
  }

  async #restart(before: Promise<void>, how: NodeJS.Signals, awayMs: number): Promise<void> {
    await before;
    this.#signal('SIGCONT');
    this.#signal(how);
    await this.#server.ended;
    await sleep(awayMs);
    this.#server = await this.#launch();
  }

  freeze(forMs: number): void {
    this.#signal('SIGSTOP');
    clearTimeout(this.#thaw);
    this.#thaw = setTimeout(() => this.#signal('SIGCONT'), forMs);
  }

  async heal(): Promise<void> {
    clearTimeout(this.#thaw);
    await this.#changing;
    this.#signal('SIGCONT');
  }

  async close(): Promise<void> {
    await this.heal();
    await this.#server.stop();
  }

  #signal(name: NodeJS.Signals): void {
    const { pid } = this.#server;
    if (pid !== undefined) kill(pid, name);
  }
}

/** It may have ended a moment ago. */
function kill(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}
