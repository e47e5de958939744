import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { inject } from 'vitest';
import { freePort } from '../../cli/provision/free-port.ts';
import { eventually } from './events.ts';

/** One redis-server process of a topology. */
export interface Node {
  port: number;
  /** SIGKILL; waits for its end. */
  kill(): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** One command on a short connection of its own. */
  ask(...command: [string, ...string[]]): Promise<unknown>;
}

export interface Topology {
  /** As `REDIS_URL` names it. */
  url: string;
  close(): Promise<void>;
}

export interface SentinelTopology extends Topology {
  masterName: string;
  /** Who is master now, as the sentinels say. */
  master(): Promise<Node>;
  nodes: Node[];
}

export interface ClusterTopology extends Topology {
  masters: Node[];
}

const MASTER_NAME = 'mymaster';
/** A master is taken for dead after so long; operators take 5 to 30 s. */
const DOWN_AFTER_MS = 1_000;

/** A master, two replicas and three sentinels that promote one of them within about two seconds. */
export async function startSentinels(): Promise<SentinelTopology> {
  const farm = new Farm();
  const first = await farm.server();
  const replicas = [await farm.server('--replicaof', '127.0.0.1', String(first.port))];
  replicas.push(await farm.server('--replicaof', '127.0.0.1', String(first.port)));
  const nodes = [first, ...replicas];
  await eventually(async () => String(await first.ask('INFO', 'replication')).includes('connected_slaves:2'), {
    timeoutMs: 20_000,
    what: 'both replicas',
  });
  const sentinels: Node[] = [];
  for (let count = 0; count < 3; count += 1) sentinels.push(await farm.sentinel(first.port));
  await eventually(async () => (await Promise.all(sentinels.map(seesAll))).every(Boolean), {
    timeoutMs: 20_000,
    what: 'the sentinels to know each other and the replicas',
  });
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${MASTER_NAME}`,
    masterName: MASTER_NAME,
    nodes,
    async master() {
      const address = (await sentinels[0]?.ask('SENTINEL', 'get-master-addr-by-name', MASTER_NAME)) as string[];
      const node = nodes.find(({ port }) => String(port) === address[1]);
      if (node === undefined) throw new Error(`The sentinels name a master that is none of ours: ${String(address)}`);
      return node;
    },
    close: () => farm.close(),
  };
}

async function seesAll(sentinel: Node): Promise<boolean> {
  const flat = (await sentinel.ask('SENTINEL', 'MASTER', MASTER_NAME)) as string[];
  const value = (name: string): string | undefined => flat[flat.indexOf(name) + 1];
  return value('num-slaves') === '2' && value('num-other-sentinels') === '2';
}

/** Three masters without replicas. */
export async function startCluster(): Promise<ClusterTopology> {
  const farm = new Farm();
  const masters: Node[] = [];
  for (let count = 0; count < 3; count += 1) {
    masters.push(await farm.server('--cluster-enabled', 'yes', '--cluster-node-timeout', '2000'));
  }
  const [first, ...others] = masters;
  const third = Math.ceil(16_384 / 3);
  for (const [index, node] of masters.entries()) {
    const last = Math.min(16_383, (index + 1) * third - 1);
    await node.ask('CLUSTER', 'ADDSLOTSRANGE', String(index * third), String(last));
    await node.ask('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
  }
  for (const node of others) await first?.ask('CLUSTER', 'MEET', '127.0.0.1', String(node.port));
  await eventually(
    async () => {
      const infos = await Promise.all(masters.map((node) => node.ask('CLUSTER', 'INFO')));
      return infos.every((info) => /cluster_state:ok[^]*cluster_known_nodes:3/.test(String(info)));
    },
    { timeoutMs: 30_000, what: 'the cluster to agree' },
  );
  return {
    url: `redis+cluster://${masters.map(({ port }) => `127.0.0.1:${port}`).join(',')}`,
    masters,
    close: () => farm.close(),
  };
}

/** Starts server processes in one folder and ends them all. */
class Farm {
  readonly #dir = mkdtempSync(join(tmpdir(), 'chat-recovery-topology-'));
  readonly #children = new Set<ChildProcess>();

  async server(...args: string[]): Promise<Node> {
    const port = await clusterablePort();
    const dir = join(this.#dir, String(port));
    mkdirSync(dir);
    const basic = ['--port', String(port), '--bind', '127.0.0.1', '--dir', dir, '--save', '', '--appendonly', 'no'];
    return this.#start(port, [...basic, '--repl-diskless-sync-delay', '0', ...args]);
  }

  async sentinel(masterPort: number): Promise<Node> {
    const port = await freePort();
    const file = join(this.#dir, `sentinel-${port}.conf`);
    const lines = [
      `port ${port}`,
      'bind 127.0.0.1',
      `dir ${this.#dir}`,
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${masterPort} 2`,
      `sentinel down-after-milliseconds ${MASTER_NAME} ${DOWN_AFTER_MS}`,
      `sentinel failover-timeout ${MASTER_NAME} 5000`,
    ];
    writeFileSync(file, `${lines.join('\n')}\n`);
    return this.#start(port, [file, '--sentinel']);
  }

  async #start(port: number, args: string[]): Promise<Node> {
    const { path, libraryPath } = program();
    const libraries = libraryPath === undefined ? {} : { LD_LIBRARY_PATH: libraryPath };
    const child = spawn(path, args, { stdio: 'ignore', env: { ...process.env, ...libraries } });
    this.#children.add(child);
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const node: Node = {
      port,
      async kill() {
        child.kill('SIGKILL');
        await ended;
      },
      signal: (name) => void child.kill(name),
      ask: (...command) => ask(port, command),
    };
    await eventually(() => node.ask('PING'), { timeoutMs: 10_000, what: `redis-server on ${port}` });
    return node;
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#children].map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = new Promise((resolve) => child.once('close', resolve));
        child.kill('SIGCONT');
        child.kill('SIGKILL');
        await ended;
      }),
    );
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** A cluster's nodes also listen 10,000 ports higher. */
async function clusterablePort(): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (port < 55_000) return port;
  }
}

async function ask(port: number, [name, ...args]: [string, ...string[]]): Promise<unknown> {
  const client = new Redis({
    port,
    host: '127.0.0.1',
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: 1_000,
  });
  client.on('error', () => undefined);
  try {
    return await client.call(name, ...args);
  } finally {
    client.disconnect();
  }
}

function program(): { path: string; libraryPath?: string } {
  return JSON.parse(inject('redisProgram')) as { path: string; libraryPath?: string };
}
