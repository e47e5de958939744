import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { byDebian } from '../../cli/provision/by-debian.ts';
import { byPath } from '../../cli/provision/by-path.ts';
import { findRedis } from '../../cli/provision/find.ts';
import { launchProgram } from '../../cli/provision/launch-program.ts';
import { run } from '../../cli/provision/run.ts';

/** A Redis of one bench's own, without persistence unless asked for. */
export interface BenchRedis {
  url: string;
  pid(): number;
  client: Redis;
  usedMemory(): Promise<number>;
  /** Commands run since its start, those within scripts included. */
  commandsRun(): Promise<number>;
  /** Calls and microseconds by command since the last reset. */
  commands(): Promise<Record<string, { calls: number; usec: number }>>;
  /** SIGKILL, then a start on the same port and files. */
  crash(): Promise<void>;
  close(): Promise<void>;
}

export async function startRedis({ durable = false } = {}): Promise<BenchRedis> {
  const found = await findRedis({ env: process.env, run, say: console.log }, [byPath, byDebian]);
  if (found.kind !== 'program') throw new Error('A bench needs a Redis program, not an address.');
  const dir = mkdtempSync(join(tmpdir(), 'chat-recovery-bench-redis-'));
  let server = await launchProgram(found, { dir, durable, run });
  const port = Number(new URL(server.url).port);
  const client = new Redis(server.url, { maxRetriesPerRequest: null });
  // It ends and comes back in a bench that kills it; commands wait meanwhile.
  client.on('error', () => undefined);
  const pid = (): number => {
    if (server.pid === undefined) throw new Error('Redis has no process here.');
    return server.pid;
  };
  return {
    url: server.url,
    pid,
    client,
    async usedMemory() {
      return Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1] ?? 0);
    },
    async commandsRun() {
      return Number(/total_commands_processed:(\d+)/.exec(await client.info('stats'))?.[1] ?? 0);
    },
    async commands() {
      const info = await client.info('commandstats');
      const rows = [...info.matchAll(/cmdstat_([^:]+):calls=(\d+),usec=(\d+)/g)];
      return Object.fromEntries(
        rows.map(([, name, calls, usec]) => [name, { calls: Number(calls), usec: Number(usec) }]),
      );
    },
    async crash() {
      process.kill(pid(), 'SIGKILL');
      await server.ended;
      server = await launchProgram(found, { dir, durable, port, run });
    },
    async close() {
      client.disconnect();
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
