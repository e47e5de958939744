import { join } from 'node:path';
import type { Telemetry } from 'bullmq';
import type { Express } from 'express';
import { SESSION_PROCESSES, sessionProcesses } from '#shared/liveness/session-processes.js';
import { collapseErrors } from '#shared/platform/collapse.js';
import { withDeadline } from '#shared/platform/deadline.js';
import type { Logger } from '#shared/platform/logger.js';
import type { Metrics } from '#shared/platform/metrics.js';
import { tellOfRedis } from '#shared/platform/redis-check.js';
import { closeRedis, createRedis, onReconnected, untilReady, type RedisClient } from '#shared/platform/redis.js';
import { createPulse } from '#shared/queue/pulse.js';
import { QUEUE_NAME } from '#shared/queue/jobs.js';
import { createRecoveryQueue, queuePrefix } from '#shared/queue/queue.js';
import { createSessionStore } from '#shared/session/redis-store.js';
import type { SessionStore } from '#shared/session/store.js';
import type { SessionDriver } from '#shared/session-api/driver.js';
import { createDrivers } from '#shared/session-api/drivers.js';
import { createPaddockLinks } from '#shared/session-api/paddock/links.js';
import type { ProcessSettings } from '#shared/settings/environment.js';
import type { SettingsService } from '#shared/settings/service.js';
import { createApp } from './app.ts';
import { createBackstopJobs } from './backstop-jobs.ts';
import { startBackground, type Background, type BackgroundOptions } from './background.ts';
import { createCounter } from './counting.ts';
import { createDiscovery, type DiscoveryOptions } from './discovery/discovery.ts';
import { hookProcesses } from './hooks/processes.ts';
import { createHookReceiver, type HookReceiverParts } from './hooks/receiver.ts';
import { createLive } from './live/create.ts';
import type { LiveEvents } from './live/live-events.ts';
import { createNotices, type CreateNoticesParts } from './notices/create.ts';
import type { Notices } from './notices/notices.ts';
import { createFileWatch, type FileWatchOptions } from './file-watch.ts';
import type { TranscriptReader, WatcherCore } from './ports.ts';
import { createPublished } from './published.ts';
import { punctual } from './punctual.ts';
import { createQueueHealth } from './queue-health.ts';
import { createSources } from './sources/create.ts';
import { createRecent } from './recent.ts';
import { Transcripts } from './transcripts.ts';

export interface BuildOptions {
  settings: ProcessSettings;
  recovery: SettingsService;
  reader: TranscriptReader;
  logger: Logger;
  metrics: Metrics;
  /** Warnings of the settings' loading, shown in `/readyz`. */
  warnings?: readonly string[];
  /** Traces; `undefined`: none. */
  telemetry?: Telemetry | undefined;
  /** What a test may have other than a process has. */
  tuning?: {
    continueTimeoutMs?: number;
    queueHealth?: { limitMs?: number; absenceMs?: number };
    openFile?: FileWatchOptions['open'];
    notices?: CreateNoticesParts['tuning'];
    discovery?: Omit<DiscoveryOptions, 'delivery'>;
    hooks?: Pick<HookReceiverParts, 'retryMs' | 'giveUpAfterMs'>;
    maxWatchedFiles?: number;
  } & Pick<BackgroundOptions, 'sweepEveryMs' | 'reconcile'>;
}

/** A watcher that is built and connected, but listens nowhere yet. */
export interface Watcher {
  app: Express;
  store: SessionStore;
  transcripts: Transcripts;
  live: LiveEvents;
  /** Waits for the first connection to Redis, so that a start is not greeted with 503; `false`: it is not there (yet). */
  connected(timeoutMs: number): Promise<boolean>;
  /** Starts catch-up and sweep; call it once. Redis need not be there. */
  start(): Background;
  /** `/readyz` says no from now on, and the event streams end. */
  drain(): void;
  /** Ends everything that `buildWatcher` made; the parts that it was given are their owner's. */
  close(): Promise<void>;
}

/** More files than this are left to the backstop; at 1.2 KB each (measured) it is 120 MB. The system's own limit may be lower. */
const MAX_WATCHED_FILES = 100_000;
/** Discovery finds every chat of a home, most of them long over, and looks at what is written every few seconds by itself. */
const MAX_DISCOVERED_FILES = 2_000;
/** Beside the client's own 500 ms for each command: BullMQ waits for a first connection without end (bullmq#995). */
const QUEUE_DEADLINE_MS = 800;
const START_PROBE_MS = 5_000;
/** SPEC §6 gives a Continue 10 s in all; the calls before and after need some of it. */
const CONTINUE_TIMEOUT_MS = 9_000;

/** Makes the watcher from its settings and outer parts. Nothing waits for Redis: it may come later, or come back. */
export function buildWatcher(options: BuildOptions): Watcher {
  const { settings, recovery, reader, logger, metrics, tuning = {} } = options;
  const redis = connect(options);
  const count = createCounter(metrics);
  const queue = punctual(redis.queue, redis.speak);
  const core: WatcherCore = {
    settings,
    recovery,
    store: redis.store,
    queue,
    reader,
    log: logger,
    count,
    replied: (afterMs) => metrics.nudgeToReplySeconds.observe(afterMs / 1_000),
  };
  const published = createPublished(core);
  const isDiscovering = settings.chatServers.some(({ discover }) => discover === true);
  const files = createFileWatch({
    log: logger,
    count,
    maxFiles: tuning.maxWatchedFiles ?? (isDiscovering ? MAX_DISCOVERED_FILES : MAX_WATCHED_FILES),
    ...(tuning.openFile === undefined ? {} : { open: tuning.openFile }),
  });
  const transcripts = new Transcripts(core, files);
  const recent = createRecent();
  const backstop = createBackstopJobs(queue);
  redis.onReconnected(() => {
    backstop.forget();
    transcripts.retryNow();
    background?.reconnected();
  });
  const paddock = createPaddockLinks(logger);
  const drivers = createDrivers(settings, { env: process.env, log: logger, paddock });
  const delivery = { core, published, transcripts, recent, backstop };
  const discovery = createDiscovery({ delivery, ...tuning.discovery });
  const hooks = createHookReceiver({
    delivery,
    processes: hookProcesses(sessionProcesses(join(settings.dataDir, SESSION_PROCESSES))),
    onLost: (lost) => discovery.owe(lost),
    ...tuning.hooks,
  });
  const sources = [...createSources(delivery, paddock), discovery];
  const queueHealth = createQueueHealth(createPulse(redis.client, settings.redisTag), metrics, tuning.queueHealth);
  let stopping = false;
  let background: Background | undefined;
  let notices: Notices | undefined;
  const sessionApis = drivers
    .remote()
    .map(({ serverId, driver }) => ({ serverId, probe: (signal: AbortSignal) => driver.probe(signal) }));
  const live = createLive({ redis: redis.client, store: redis.store, settings, logger });
  const app = createApp({
    ...delivery,
    hooks,
    logger,
    metrics,
    queue: () => redis.queue.bull,
    live: live.events,
    stats: live.stats,
    requests: { request: (...job) => redis.queue.request(...job), withdraw: redis.withdraw },
    continueTimeoutMs: tuning.continueTimeoutMs ?? CONTINUE_TIMEOUT_MS,
    health: {
      // Not PING: on a cluster any node would answer that.
      pingRedis: () => redis.store.now(),
      queue: () => queueHealth.look(),
      warnings: () => [...(options.warnings ?? []), ...recovery.warnings(), ...redis.warnings()],
      sessionApis,
      stopping: () => stopping,
      watching: () => transcripts.counts(),
    },
  });

  return {
    app,
    store: redis.store,
    transcripts,
    live: live.events,
    connected: redis.connected,
    start() {
      if (background === undefined) {
        void probeAll(drivers.remote(), logger);
        for (const source of sources) source.start();
      }
      notices ??= createNotices({
        redis: redis.client,
        settings,
        sessionApis,
        workersAlive: async () => (await queueHealth.look()).workersAlive,
        store: redis.store,
        metrics,
        count,
        log: logger,
        tuning: tuning.notices,
      });
      background ??= startBackground(delivery, {
        onArmed: (armed) => metrics.armedSessions.set(armed),
        lookAtQueue: () => queueHealth.look(),
        ...(tuning.sweepEveryMs === undefined ? {} : { sweepEveryMs: tuning.sweepEveryMs }),
        ...(tuning.reconcile === undefined ? {} : { reconcile: tuning.reconcile }),
      });
      return background;
    },
    drain() {
      stopping = true;
      live.events.close();
    },
    async close() {
      stopping = true;
      await live.close();
      await notices?.stop();
      await background?.stop();
      await hooks.close();
      await Promise.all(sources.map((source) => source.close()));
      await transcripts.close();
      await drivers.close();
      queue.close();
      await redis.close();
    },
  };
}

/** A session API that is down at start is told of once; `/readyz` goes on telling. */
async function probeAll(drivers: { serverId: string; driver: SessionDriver }[], logger: Logger): Promise<void> {
  for (const { serverId, driver } of drivers) {
    try {
      await driver.probe(AbortSignal.timeout(START_PROBE_MS));
    } catch (err) {
      logger.warn({ chatServer: serverId, err }, 'The session API cannot be reached; its recoveries wait for it.');
    }
  }
}

/** Clients, store and queue; what Redis lacks (eviction policy, persistence) is known once it has been there. */
function connect({ settings, logger, telemetry }: BuildOptions) {
  const { redisUrl: url, redisTag: tag } = settings;
  const client = createRedis({ url, role: 'fail-fast', name: 'watcher', logger });
  let answers: RedisClient | undefined;
  const onError = collapseErrors({ report: (err, leftOut) => logger.warn({ err, leftOut }, 'Queue error.') });
  const queue = createRecoveryQueue({
    connection: client,
    answers: () => (answers ??= createRedis({ url, role: 'patient', name: 'watcher-answers', logger })),
    tag,
    deadlineMs: QUEUE_DEADLINE_MS,
    onError,
    telemetry,
  });
  const store = createSessionStore({
    redis: client,
    tag,
    sessionTtlMs: settings.sessionTtlMs,
    markTtlMs: 2 * settings.webhookToleranceMs,
  });
  const told = tellOfRedis(client, logger);
  return {
    client,
    queue,
    store,
    onReconnected: (listener: () => void) => onReconnected(client, listener),
    connected: (timeoutMs: number) => untilReady(client, timeoutMs),
    warnings: () => told.findings(),
    // Of the queue's own slot, so that on a cluster the right server hears it.
    speak: () => client.exists(`${queuePrefix(tag)}:${QUEUE_NAME}:meta`),
    withdraw: async (jobId: string) =>
      (await withDeadline(queue.bull.remove(jobId), QUEUE_DEADLINE_MS, 'the queue')) === 1,
    async close() {
      await queue.close();
      if (answers !== undefined) await closeRedis(answers);
      await closeRedis(client);
    },
  };
}
