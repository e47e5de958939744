import type { JobData, JobName } from '#shared/queue/jobs.js';
import type { SessionStore } from '#shared/session/store.js';
import type { ChatServer, ProcessSettings } from '#shared/settings/environment.js';
import type { SettingsService } from '#shared/settings/service.js';
import type { FileMark, ReadContext, ReadOutcome } from '#shared/transcript/finding.js';
import type { Confined } from '#shared/transcript/locate.js';

/**
 * What the watcher is given from outside. Everything that does I/O comes in through here, so that the app can be built
 * over other parts in a test and nothing opens a connection by being imported.
 */

/** Producer's side of the queue. Adding an id that exists changes nothing (a repeat is harmless, a new need is lost). */
export interface JobAdder {
  add<N extends JobName>(
    name: N,
    data: JobData<N>,
    options: { jobId: string; dueMs: number; nowMs: number },
  ): Promise<unknown>;
}

/** Reading of transcripts; never writes, never creates. */
export interface TranscriptReader {
  /** Reads the tail backwards until the shape of the chat is known. */
  read(path: string, context: ReadContext): Promise<ReadOutcome>;
  /** The file as it is now where nothing that matters was appended since it was as `since` says; `undefined`: read it. */
  glance(path: string, since: FileMark): Promise<FileMark | undefined>;
  /**
   * The path as this process opens it: mapped from the sender's roots, symbolic links followed. Refused where it does not
   * resolve under one of the server's roots, or is no chat's; then nothing was read. `known`: a path whose file the caller
   * knows already.
   */
  confine(server: ChatServer, theirs: string, known?: (path: string) => boolean): Promise<Confined>;
  /** Where Claude Code puts the file of a session that runs in `cwd` (SPEC §6); confined like any other path. */
  defaultPath(server: ChatServer, cwd: string, sessionId: string): string;
  /** Looks the session's file up again under the server's roots. */
  locate(server: ChatServer, sessionId: string): Promise<string | undefined>;
}

/** The few log calls that the watcher uses; pino fits. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Parts that both the HTTP side and the watching side need. */
export interface WatcherCore {
  settings: ProcessSettings;
  recovery: SettingsService;
  store: SessionStore;
  queue: JobAdder;
  reader: TranscriptReader;
  log: Log;
  count: Counter;
  /** A nudged chat replied so long after its nudge (ms). */
  replied: (afterMs: number) => void;
}

/** Adds one to a counter of `/metrics`. */
export type Counter = (name: CounterName, labels?: Record<string, string>) => void;

/** What the watcher counts by itself, with label and meaning; exposed with the prefix `chat_recovery_`. */
export const COUNTERS = {
  looks_total: {
    labels: ['result'],
    help: 'Looks at transcripts by what they showed; glance: only what was appended, and nothing in it mattered.',
  },
  observations_total: {
    labels: ['observation'],
    help: 'Chats that are dead in a way other than the hung signature, once for each session and generation.',
  },
  outgoing_notices_total: {
    labels: ['outcome'],
    help: 'Outgoing notices: sent, failed (tried again), given-up, digested (told by a digest), dropped (too many waited).',
  },
  hooks_total: {
    labels: ['event', 'outcome'],
    help: 'Claude Code hooks: applied, duplicate, ignored, not-ours (its chat server’s webhooks count), refused, lost (Redis was away for a minute).',
  },
  discovered_total: { labels: ['how'], help: 'Chats found by their files: watched, or hung already when first seen.' },
  evaluations_planned_total: { labels: ['why'], help: 'Evaluations put on the queue by the watcher.' },
  file_watch_errors_total: { labels: ['code'], help: 'Errors of the file watcher; the sweep goes on without it.' },
  background_failures_total: {
    labels: ['part'],
    help: 'Sweeps, catch-ups and the like that failed and are tried again.',
  },
} as const satisfies Record<string, { labels: readonly string[]; help: string }>;
export type CounterName = keyof typeof COUNTERS | 'webhooks_total' | 'notices_total';
