import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { shownRedisUrl } from '#shared/platform/redis.js';
import { byDebian } from '../../cli/provision/by-debian.ts';
import { byPath } from '../../cli/provision/by-path.ts';
import { byUrl } from '../../cli/provision/by-url.ts';
import { findRedis } from '../../cli/provision/find.ts';
import type { Way } from '../../cli/provision/found.ts';
import { launchRedis } from '../../cli/provision/launch.ts';
import { run } from '../../cli/provision/run.ts';
import { byTestcontainers, stopContainers } from './redis-container.ts';

declare module 'vitest' {
  interface ProvidedContext {
    redisUrl: string;
    /** JSON of the program that {@link isolatedRedis} starts; empty where Redis is not a program here. */
    redisProgram: string;
  }
}

interface TestRedis {
  url: string;
  program: string;
  stop(): Promise<void>;
}

/** Both levels that need Redis run in one process, and share one server. */
let shared: { users: number; redis: Promise<TestRedis> } | undefined;

/** vitest's global setup: one Redis for the whole run, wherever this machine has it. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared ??= { users: 0, redis: startRedis() };
  shared.users += 1;
  const mine = shared;
  const redis = await mine.redis;
  project.provide('redisUrl', redis.url);
  project.provide('redisProgram', redis.program);
  return async () => {
    mine.users -= 1;
    if (mine.users > 0) return;
    shared = undefined;
    await redis.stop();
  };
}

/** `TEST_REDIS=docker` holds the run to the container, so that CI can prove that way too. */
function ways(env: NodeJS.ProcessEnv): readonly Way[] {
  return env['TEST_REDIS'] === 'docker' ? [byTestcontainers] : [byUrl, byPath, byTestcontainers, byDebian];
}

async function startRedis(): Promise<TestRedis> {
  const found = await findRedis({ env: process.env, run, say: console.error }, ways(process.env));
  const dir = await mkdtemp(join(tmpdir(), 'chat-recovery-redis-'));
  const server = await launchRedis(found, { dir, durable: false, run });
  const what = found.kind === 'url' ? 'one that runs already' : server.description;
  console.error(`Redis for the tests: ${what} at ${shownRedisUrl(server.url)}`);
  return {
    url: server.url,
    program: found.kind === 'program' ? JSON.stringify(found) : '',
    async stop() {
      await server.stop();
      await stopContainers();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
