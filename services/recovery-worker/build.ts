import type { Telemetry } from 'bullmq';
import { collapseErrors } from '#shared/platform/collapse.js';
import { withDeadline } from '#shared/platform/deadline.js';
import { createLogger, type Logger } from '#shared/platform/logger.js';
import { createMetrics } from '#shared/platform/metrics.js';
import { closeRedis, createRedis } from '#shared/platform/redis.js';
import { tellOfRedis } from '#shared/platform/redis-check.js';
import { createTicker } from '#shared/platform/ticker.js';
import { createPulse } from '#shared/queue/pulse.js';
import { createRecoveryQueue } from '#shared/queue/queue.js';
import { createDrivers } from '#shared/session-api/drivers.js';
import { createPaddockLinks } from '#shared/session-api/paddock/links.js';
import { createTranscriptSources } from '#shared/session-api/transcript/sources.js';
import { createSessionStore } from '#shared/session/redis-store.js';
import type { ProcessSettings } from '#shared/settings/environment.js';
import { locate } from '#shared/transcript/locate.js';

import { nudgeWriter } from './nudge-text.ts';
import type { WorkerParts } from './parts.ts';
import { startCarryOn } from './carry-on.ts';
import { startSelfCheck, type SelfCheckTuning } from './self-check.ts';
import { startWorker, type RecoveryWorker } from './worker.ts';

/** How long a job's Redis or queue call may take before the job is tried again. */
const QUEUE_DEADLINE_MS = 10_000;
const CLOSE_WITHIN_MS = 500;

export interface WorkerService {
  logger: Logger;
  parts: WorkerParts;
  /** As `/readyz` of a watcher counts it. */
  id: string;
  worker: RecoveryWorker;
  /** Resolves once the worker takes jobs. */
  ready(): Promise<void>;
  /** Drains within the deadline, then closes every connection. */
  close(): Promise<void>;
}

export interface BuildOptions {
  /** The worker cannot hear its queue any more, and replacing it did not help: end the process. */
  onHopeless?: () => void;
  /** Variables of which commands get a few; the process's own. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Traces; `undefined`: none. */
  telemetry?: Telemetry | undefined;
  /** What a test may have other than a process has. */
  tuning?: SelfCheckTuning;
  /** How often overdue steps are asked for; 5 s. */
  carryOnEveryMs?: number;
}

/** Makes a whole recovery worker from its settings: connections, drivers, BullMQ worker. */
export function buildWorker(settings: ProcessSettings, options: BuildOptions = {}): WorkerService {
  const logger = createLogger({ level: settings.logLevel, name: 'recovery-worker' });
  const startedAt = performance.now();
  const client = (name: string) =>
    createRedis({ url: settings.redisUrl, role: 'patient', name: `${settings.redisTag}:worker:${name}`, logger });
  const redis = client('store');
  const connection = client('queue');
  tellOfRedis(redis, logger);
  const ticker = createTicker();
  const paddock = createPaddockLinks(logger);
  const drivers = createDrivers(settings, { env: options.env ?? process.env, log: logger, paddock });
  const transcripts = createTranscriptSources(settings);
  const queue = createRecoveryQueue({
    connection,
    answers: () => connection,
    tag: settings.redisTag,
    deadlineMs: QUEUE_DEADLINE_MS,
    onError: collapseErrors({ report: (err, leftOut) => logger.warn({ err, leftOut }, 'Queue error.') }),
    telemetry: options.telemetry,
  });
  const parts: WorkerParts = {
    store: createSessionStore({
      redis,
      tag: settings.redisTag,
      sessionTtlMs: settings.sessionTtlMs,
      markTtlMs: settings.webhookToleranceMs * 2,
    }),
    queue,
    transcripts: (work) => transcripts.of(work),
    locate: async (server, sessionId) =>
      transcripts.isLocal(server) ? locate(sessionId, rootsOf(settings, server)) : undefined,
    driver: (server, project) => drivers.of(server, project),
    settings,
    lastGapAgoMs: () => ticker.lastGapAgoMs(),
    uptimeMs: () => performance.now() - startedAt,
    random: Math.random,
    nudgeText: nudgeWriter(settings.nudgeTemplateFile),
    metrics: createMetrics({ processMetrics: settings.workerPort > 0 }),
    logger,
  };
  const worker = startWorker({
    connect: () => client('jobs'),
    tag: settings.redisTag,
    concurrency: settings.workerConcurrency,
    parts,
    onError: collapseErrors({ report: (err, leftOut) => logger.warn({ err, leftOut }, 'Worker error.') }),
    telemetry: options.telemetry,
  });
  const check = startSelfCheck({
    pulse: createPulse(redis, settings.redisTag),
    queue,
    worker: {
      active: () => worker.active(),
      onTaken: (listener) => worker.onTaken(listener),
      restart: () => worker.restart(),
      concurrency: settings.workerConcurrency,
    },
    logger,
    onHopeless: options.onHopeless ?? (() => undefined),
    tuning: options.tuning,
  });

  const carryOn = startCarryOn(parts, options.carryOnEveryMs);

  return {
    logger,
    parts,
    id: check.id,
    worker,
    ready: async () => {
      await worker.bull.waitUntilReady();
    },
    async close() {
      await check.stop();
      await withDeadline(carryOn.stop(), CLOSE_WITHIN_MS, 'a round of steps').catch((err: unknown) =>
        logger.debug({ err }, 'A round of steps was cut off.'),
      );
      await worker.close(settings.shutdownDeadlineMs);
      ticker.stop();
      await withDeadline(queue.close(), CLOSE_WITHIN_MS, 'the queue').catch((err: unknown) =>
        logger.warn({ err }, 'The queue did not end well.'),
      );
      await Promise.all([drivers.close(), transcripts.close()]);
      await Promise.all([closeRedis(redis), closeRedis(connection)]);
    },
  };
}

function rootsOf(settings: ProcessSettings, server: string) {
  return settings.chatServers.find(({ id }) => id === server)?.transcriptRoots ?? [];
}
