import type { Logger } from '#shared/platform/logger.js';
import type { Metrics } from '#shared/platform/metrics.js';
import type { RecoveryQueue } from '#shared/queue/queue.js';
import type { SessionStore } from '#shared/session/store.js';
import type { SessionDriver } from '#shared/session-api/driver.js';
import type { ProcessSettings } from '#shared/settings/environment.js';
import type { TranscriptSource } from '#shared/transcript/finding.js';

/** Everything a worker works with, passed in by its process. */
export interface WorkerParts {
  store: SessionStore;
  queue: RecoveryQueue;
  /** Where a session's transcript is read. */
  transcripts: (work: { server: string; sessionId: string }) => TranscriptSource;
  /** Looks a session's file up again under its server's roots; `undefined`: nowhere. */
  locate: (server: string, sessionId: string) => Promise<string | undefined>;
  /** The driver of a chat server's project; `undefined` where the settings know no such server. */
  driver: (server: string, project: string) => SessionDriver | undefined;
  settings: ProcessSettings;
  /** How long ago this process or its host was found to have slept (ms); `undefined`: never. */
  lastGapAgoMs: () => number | undefined;
  /** How long this worker has been running, monotonic (ms). */
  uptimeMs: () => number;
  /** 0 ≤ x < 1, for jitter. */
  random: () => number;
  nudgeText: (facts: NudgeFacts) => string;
  metrics: Metrics;
  logger: Logger;
}

/** What a nudge's template may say. */
export interface NudgeFacts {
  label: string;
  tasks: { id: string; summary: string }[];
  try: number;
  maxRetries: number;
  kind: 'auto' | 'manual';
}

/** What identifies one run of one job. */
export interface Run {
  /** Lease holder: BullMQ's token, one per fetch of a job. */
  owner: string;
  signal: AbortSignal;
  logger: Logger;
}
