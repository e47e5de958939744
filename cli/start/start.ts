import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createLogger, type Logger } from '#shared/platform/logger.js';
import { checkRedis } from '#shared/platform/redis-check.js';
import { closeRedis, createRedis, untilReady } from '#shared/platform/redis.js';
import { runUntilStopped } from '#shared/platform/shutdown.js';
import { loadSettings, type ProcessSettings } from '#shared/settings/environment.js';
import { findRedis } from '../provision/find.ts';
import type { RedisFound } from '../provision/found.ts';
import { freePort } from '../provision/free-port.ts';
import { launchRedis } from '../provision/launch.ts';
import { run } from '../provision/run.ts';
import type { Running } from '../supervise/child.ts';
import { keepRunning, type Kept } from '../supervise/keep-running.ts';
import { renderLine } from '../supervise/line.ts';
import { startHttpService, startPlainService } from '../supervise/services.ts';
import { takeLock, type Lock } from './lock.ts';

/** Children have their own deadlines; this one is for all of them after each other. */
const STOP_ALL_EXTRA_MS = 20_000;

interface Session {
  settings: ProcessSettings;
  logger: Logger;
  lock: Lock;
  dataDir: string;
  show: (line: string, name: string) => void;
  /** Process ids by name, for the lock. */
  pids: Map<string, number>;
}

/**
 * `npm start`: Redis with an append-only file in DATA_DIR, the watcher and WORKER_REPLICAS workers on this machine, each
 * started again when it dies. Ends on SIGTERM or Ctrl-C: watcher, workers, Redis.
 */
export async function start(env: NodeJS.ProcessEnv): Promise<void> {
  const { settings } = loadSettings(env);
  const pretty = process.stdout.isTTY;
  const show = (line: string, name: string): void => console.log(renderLine(name, line, pretty));
  const logger = createLogger({
    level: settings.logLevel,
    name: 'start',
    destination: { write: (line) => show(line.trimEnd(), 'start') },
  });
  const dataDir = resolve(settings.dataDir);
  const lock = await takeLock(dataDir);
  process.once('exit', () => lock.release());

  const parts: { name: string; kept: Kept }[] = [];
  const running = runUntilStopped({
    logger,
    deadlineMs: settings.shutdownDeadlineMs + STOP_ALL_EXTRA_MS,
    stop: async (step) => {
      // Watcher first: nothing new comes in; workers finish what they have; Redis has the last word.
      for (const { name, kept } of parts.toReversed()) await step(name, () => kept.stop());
    },
  });
  try {
    await startParts({ settings, logger, lock, dataDir, show, pids: new Map() }, env, parts);
  } catch (error) {
    logger.fatal({ err: error }, error instanceof Error ? error.message : 'Starting failed.');
    process.exitCode = 1;
    running.fail();
  }
}

/** Redis, then workers, then the watcher: whoever may ask is there before whoever is asked. */
async function startParts(
  session: Session,
  env: NodeJS.ProcessEnv,
  parts: { name: string; kept: Kept }[],
): Promise<void> {
  const { settings, logger } = session;
  const say = (sentence: string): void => logger.warn({}, sentence);
  const keep = async (name: string, starter: () => Promise<Running>): Promise<void> => {
    const onPid = (pid: number | undefined): void => remember(session, name, pid);
    parts.push({ name, kept: await keepRunning({ name, start: starter, say, onPid }) });
  };
  const found = await findRedis({ env, run, say: (sentence) => logger.info({}, sentence) });
  const port = found.kind === 'url' ? 0 : await freePort();
  const url = found.kind === 'url' ? found.url : `redis://127.0.0.1:${port}`;
  if (found.kind !== 'url') await keep('redis', () => startRedis(session, found, port));
  await warnAboutRedis(url, logger);

  const common = { ...env, REDIS_URL: url };
  const onLine = session.show;
  for (let number = 1; number <= settings.workerReplicas; number += 1) {
    const name = `worker ${number}`;
    // A port each, from WORKER_PORT on.
    const ownPort = settings.workerPort === 0 ? {} : { WORKER_PORT: String(settings.workerPort + number - 1) };
    const workerEnv = { ...common, ...ownPort };
    await keep(name, () => startPlainService({ name, entry: 'services/recovery-worker/main', env: workerEnv, onLine }));
  }
  const address = `http://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${settings.port}`;
  await keep('watcher', () =>
    startHttpService({ name: 'watcher', entry: 'services/watcher/main', env: common, onLine }, `${address}/healthz`),
  );
  logger.info({ url: address, workers: settings.workerReplicas }, 'Ready.');
}

async function startRedis({ dataDir, logger }: Session, found: RedisFound, port: number): Promise<Running> {
  const dir = join(dataDir, 'redis');
  await mkdir(dir, { recursive: true });
  const server = await launchRedis(found, { dir, durable: true, port, run });
  logger.info({ redis: server.description, dir }, 'Redis is up.');
  return { pid: server.pid, ended: server.ended.then(() => 'its process is gone'), stop: () => server.stop() };
}

async function warnAboutRedis(url: string, logger: Logger): Promise<void> {
  const client = createRedis({ url, role: 'fail-fast', name: 'chat-recovery:start', logger });
  try {
    if (!(await untilReady(client, 10_000))) throw new Error('Redis does not answer.');
    for (const warning of await checkRedis(client)) logger.warn({}, warning);
  } finally {
    await closeRedis(client);
  }
}

function remember({ lock, pids }: Session, name: string, pid: number | undefined): void {
  if (pid === undefined) pids.delete(name);
  else pids.set(name, pid);
  lock.children([...pids.values()]);
}
