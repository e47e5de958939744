import { createLogger, type Logger } from '#shared/platform/logger.js';
import { createMetrics } from '#shared/platform/metrics.js';
import { closeRedis, createRedis } from '#shared/platform/redis.js';
import { createTicker } from '#shared/platform/ticker.js';
import { createRecoveryQueue } from '#shared/queue/queue.js';
import { createDriver } from '#shared/session-api/create-driver.js';
import type { SessionDriver } from '#shared/session-api/driver.js';
import { createSessionStore } from '#shared/session/redis-store.js';
import type { ProcessSettings } from '#shared/settings/environment.js';
import { locate } from '#shared/transcript/locate.js';
import { localFiles } from '#shared/transcript/source.js';
import { nudgeWriter } from './nudge-text.ts';
import type { WorkerParts } from './parts.ts';
import { startWorker } from './worker.ts';

/** How long a job's Redis or queue call may take before the job is tried again. */
const QUEUE_DEADLINE_MS = 10_000;

export interface WorkerService {
  logger: Logger;
  parts: WorkerParts;
  /** Resolves once the worker takes jobs. */
  ready(): Promise<void>;
  /** Drains within the deadline, then closes every connection. */
  close(): Promise<void>;
}

/** Makes a whole recovery worker from its settings: connections, drivers, BullMQ worker. */
export function buildWorker(settings: ProcessSettings): WorkerService {
  const logger = createLogger({ level: settings.logLevel, name: 'recovery-worker' });
  const startedAt = performance.now();
  const client = (name: string) =>
    createRedis({ url: settings.redisUrl, role: 'patient', name: `${settings.redisTag}:worker:${name}`, logger });
  const redis = client('store');
  const connection = client('queue');
  const ticker = createTicker();
  const drivers = makeDrivers(settings);
  const queue = createRecoveryQueue({
    connection,
    answers: () => connection,
    tag: settings.redisTag,
    deadlineMs: QUEUE_DEADLINE_MS,
    onError: (err) => logger.debug({ err }, 'Queue error.'),
  });
  const parts: WorkerParts = {
    store: createSessionStore({
      redis,
      tag: settings.redisTag,
      sessionTtlMs: settings.sessionTtlMs,
      markTtlMs: settings.webhookToleranceMs * 2,
    }),
    queue,
    transcripts: localFiles,
    locate: (server, sessionId) => locate(sessionId, rootsOf(settings, server)),
    driver: (server) => drivers.get(server),
    settings,
    lastGapAgoMs: () => ticker.lastGapAgoMs(),
    uptimeMs: () => performance.now() - startedAt,
    random: Math.random,
    nudgeText: nudgeWriter(settings.nudgeTemplateFile),
    metrics: createMetrics(),
    logger,
  };
  const worker = startWorker({
    connection,
    tag: settings.redisTag,
    concurrency: settings.workerConcurrency,
    parts,
  });
  worker.bull.on('error', (err) => logger.debug({ err }, 'Worker error.'));

  return {
    logger,
    parts,
    ready: async () => {
      await worker.bull.waitUntilReady();
    },
    async close() {
      await worker.close(settings.shutdownDeadlineMs);
      ticker.stop();
      await queue.close();
      await Promise.all([...drivers.values()].map((driver) => driver.close()));
      await Promise.all([closeRedis(redis), closeRedis(connection)]);
    },
  };
}

function makeDrivers(settings: ProcessSettings): Map<string, SessionDriver> {
  return new Map(settings.chatServers.map((server) => [server.id, createDriver(server, settings.sessionApiTimeoutMs)]));
}

function rootsOf(settings: ProcessSettings, server: string) {
  return settings.chatServers.find(({ id }) => id === server)?.transcriptRoots ?? [];
}
