import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../cli/provision/free-port.ts';
import { SessionApiStandIn } from '../../test/support/session-api-stand-in.ts';
import { startProcess, type TestProcess } from '../../test/support/processes.ts';
import { makeChats, type BenchChat } from './chats.ts';
import { PROJECT, SECRET } from './deliveries.ts';
import { HttpSender } from './http-sender.ts';
import { startRedis, type BenchRedis } from './redis.ts';

export const TAG = 'bench';

export interface SiteOptions {
  /** Folder of the compiled services. */
  root: string;
  workers?: number;
  watcher?: boolean;
  debounceMs?: number;
  durable?: boolean;
  connections?: number;
  env?: Record<string, string>;
  /** What Node itself is told, e.g. `--cpu-prof`. */
  node?: readonly string[];
}

/** A whole deployment of one bench: its Redis, compiled watcher and workers as processes, a chat server's stand-in here. */
export class Site {
  readonly dir = mkdtempSync(join(tmpdir(), 'bench-'));
  readonly transcripts = join(this.dir, '.claude', 'projects');
  readonly options: SiteOptions;
  readonly redis: BenchRedis;
  readonly api: SessionApiStandIn;
  readonly port: number;
  readonly workerPort: number;
  watcher: TestProcess | undefined;
  workers: TestProcess[] = [];
  #sender: HttpSender | undefined;

  private constructor(options: SiteOptions, parts: { redis: BenchRedis; api: SessionApiStandIn; ports: number[] }) {
    this.options = options;
    this.redis = parts.redis;
    this.api = parts.api;
    [this.port = 0, this.workerPort = 0] = parts.ports;
    mkdirSync(this.transcripts, { recursive: true });
    const folder = join(this.dir, 'settings', PROJECT);
    mkdirSync(folder, { recursive: true });
    const recovery = { autoReDrive: true, debounceMs: options.debounceMs ?? 5_000, limboTimeoutMs: 0 };
    writeFileSync(join(folder, 'project.yaml'), JSON.stringify({ recovery }));
  }

  static async start(options: SiteOptions): Promise<Site> {
    const [redis, api] = [await startRedis({ durable: options.durable ?? false }), await SessionApiStandIn.start()];
    const site = new Site(options, { redis, api, ports: [await freePort(), await freePort()] });
    await site.startServices();
    return site;
  }

  async startServices(): Promise<void> {
    const { watcher = true, workers = 1 } = this.options;
    const started = Array.from({ length: workers }, (_, n) =>
      this.startWorker(n === 0 ? { WORKER_PORT: String(this.workerPort) } : {}),
    );
    if (watcher) this.watcher = await this.#start('watcher', { PORT: String(this.port) });
    this.workers = await Promise.all(started);
    if (watcher) this.#sender = await HttpSender.open(this.port, this.options.connections ?? 50);
  }

  startWorker(env: Record<string, string> = {}): Promise<TestProcess> {
    return this.#start('recovery-worker', env);
  }

  get sender(): HttpSender {
    if (this.#sender === undefined) throw new Error('This site has no watcher.');
    return this.#sender;
  }

  /** By what they are, for counting CPU. */
  pids(): { watcher: number[]; worker: number[]; redis: number[] } {
    return {
      watcher: this.watcher === undefined ? [] : [this.watcher.pid],
      worker: this.workers.map(({ pid }) => pid),
      redis: [this.redis.pid()],
    };
  }

  makeChats(count: number, fillBytes?: number): BenchChat[] {
    const chats = makeChats(this.transcripts, count, fillBytes);
    for (const { sessionId } of chats) this.api.add(sessionId, { project: PROJECT });
    return chats;
  }

  /** SIGKILL of everything that is ours, all at the same moment. */
  async killServices(): Promise<void> {
    this.#sender?.close();
    await Promise.all(this.#services().map((each) => each.stop('SIGKILL')));
  }

  async close(): Promise<void> {
    this.#sender?.close();
    await Promise.all(this.#services().map((each) => each.stop('SIGTERM')));
    await this.api.close();
    await this.redis.close();
    rmSync(this.dir, { recursive: true, force: true });
  }

  #services(): TestProcess[] {
    return [...(this.watcher === undefined ? [] : [this.watcher]), ...this.workers];
  }

  async #start(service: 'watcher' | 'recovery-worker', env: Record<string, string>): Promise<TestProcess> {
    const started = await startProcess({
      root: this.options.root,
      file: `dist/services/${service}/main.js`,
      node: this.options.node ?? [],
      env: {
        REDIS_URL: this.redis.url,
        REDIS_HASH_TAG: TAG,
        WEBHOOK_SECRETS: SECRET,
        // The limit is counted all the same; only never reached.
        WEBHOOK_RATE_LIMIT: '100000000',
        SESSION_API_URL: this.api.url,
        PROJECTS_DIR: join(this.dir, 'settings'),
        TRANSCRIPT_ROOTS: this.transcripts,
        RECOVERY_SETTLE_MS: '0',
        RECOVERY_MAX_NUDGES_PER_HOUR: '0',
        RECOVERY_MAX_CONCURRENT: '0',
        WORKER_CONCURRENCY: '50',
        ...env,
        ...this.options.env,
      },
    });
    // Should this program end without a `close`, its services go with it.
    const onExit = (): void => started.signal('SIGKILL');
    process.once('exit', onExit);
    void started.exited.then(() => process.off('exit', onExit));
    return started;
  }
}
