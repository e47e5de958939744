import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { listen } from '#shared/platform/http-server.js';
import { silentLogger } from '#shared/platform/logger.js';
import { createMetrics } from '#shared/platform/metrics.js';
import { loadSettings } from '#shared/settings/environment.js';
import { createSettingsService } from '#shared/settings/service.js';
import { buildWatcher, type BuildOptions } from '../../../services/watcher/build.ts';
import { eventually } from '../../support/events.ts';
import { test as redisTest } from '../../support/redis.ts';
import { localReader } from '../../../services/watcher/reader.ts';

export { afterAll, afterEach, beforeAll, beforeEach, describe, expect, vi } from 'vitest';

export const SECRET = `whsec_${Buffer.from('a secret of the default server!!').toString('base64')}`;
export const ADMIN = 'admin-token-for-tests';

export interface WatcherSetup {
  /** The run's Redis, unless a test brings its own. */
  redisUrl?: string;
  /** Added to the environment; an empty text removes a variable. */
  env?: Record<string, string>;
  /** YAML instance file as a map; with `chatServers` the single server's variables go. */
  file?: Record<string, unknown>;
  tuning?: BuildOptions['tuning'];
  /** How long the start waits for Redis; 2 s. */
  connectWithinMs?: number;
}

/** A folder of a test's own: transcripts below `claude/projects`, project files below `projects`. */
export interface Folders {
  root: string;
  transcripts: string;
  projects: string;
  remove(): Promise<void>;
}

export async function makeFolders(): Promise<Folders> {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'watcher-test-')));
  const transcripts = join(root, 'claude', 'projects');
  const projects = join(root, 'projects');
  await mkdir(join(transcripts, 'p1'), { recursive: true });
  await mkdir(projects, { recursive: true });
  return { root, transcripts, projects, remove: () => rm(root, { recursive: true, force: true }) };
}

/** The watcher over real Redis, real files and real HTTP on a free port. */
export async function startWatcher(folders: Folders, setup: WatcherSetup & { redisUrl: string; tag: string }) {
  const env = Object.fromEntries(
    Object.entries({
      HOME: folders.root,
      REDIS_URL: setup.redisUrl,
      REDIS_HASH_TAG: setup.tag,
      ADMIN_TOKEN: ADMIN,
      ...(setup.file?.['chatServers'] === undefined
        ? {
            WEBHOOK_SECRETS: SECRET,
            TRANSCRIPT_ROOTS: folders.transcripts,
            CLAUDE_HOME: join(folders.root, 'claude'),
            PROJECTS_DIR: folders.projects,
          }
        : {}),
      ...setup.env,
    }).filter(([, value]) => value !== ''),
  );
  const { settings, warnings } = loadSettings(env, setup.file ?? {});
  const logger = silentLogger();
  const recovery = createSettingsService({ settings, env, logger, alreadyWarned: warnings });
  const metrics = createMetrics();
  const watcher = buildWatcher({
    settings,
    recovery,
    reader: localReader(),
    logger,
    metrics,
    warnings,
    tuning: { sweepEveryMs: 100, ...setup.tuning },
  });
  const server = await listen(watcher.app, { host: '127.0.0.1', port: 0, name: 'The watcher' });
  await watcher.connected(setup.connectWithinMs ?? 2_000);
  const background = watcher.start();
  let closed = false;

  return {
    ...watcher,
    url: server.url,
    metrics,
    recovery,
    background,
    /** An admin's call. */
    call: (path: string, { headers, ...init }: CallInit = {}) =>
      fetch(`${server.url}${path}`, { ...init, headers: { authorization: `Bearer ${ADMIN}`, ...headers } }),
    /** A signed delivery. */
    deliver: (delivery: unknown, options: DeliverOptions = {}) => deliver(server.url, delivery, options),
    async stop() {
      if (closed) return;
      closed = true;
      await server.close();
      await watcher.close();
      await recovery.close();
    },
  };
}
export type RunningWatcher = Awaited<ReturnType<typeof startWatcher>>;

interface CallInit {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
}

export interface DeliverOptions {
  secret?: string;
  id?: string;
  signedAt?: Date;
  /** Overrides or removes (`''`) single headers after signing. */
  headers?: Record<string, string>;
}

/** Signs with the independent `standardwebhooks` package and posts. */
export function deliver(url: string, delivery: unknown, options: DeliverOptions = {}): Promise<Response> {
  const { secret = SECRET, id = `msg_${randomUUID()}`, signedAt = new Date() } = options;
  const body = typeof delivery === 'string' ? delivery : JSON.stringify(delivery);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(signedAt.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, signedAt, body),
    ...options.headers,
  };
  return fetch(`${url}/v1/events`, {
    method: 'POST',
    body,
    headers: Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== '')),
  });
}

/** A turn's end as a chat server tells it. */
export function turnEnded(
  chat: { sessionId: string; path: string },
  data: Record<string, unknown> = {},
  atMs = Date.now(),
): { type: string; timestamp: string; data: Record<string, unknown> } {
  return {
    type: 'turn.ended',
    timestamp: new Date(atMs).toISOString(),
    data: {
      sessionId: chat.sessionId,
      project: 'p1',
      driveMode: 'session',
      outcome: 'completed',
      cause: 'human',
      transcriptPath: chat.path,
      ...data,
    },
  };
}

/** Any other event. */
export function event(
  type: string,
  chat: { sessionId: string },
  data: Record<string, unknown> = {},
  atMs = Date.now(),
) {
  return {
    type,
    timestamp: new Date(atMs).toISOString(),
    data: { sessionId: chat.sessionId, project: 'p1', ...data },
  };
}

/** A problem document's essentials. */
export async function problemOf(response: Response): Promise<{ status: number; code: unknown; field: unknown }> {
  const body = (await response.json()) as Record<string, unknown>;
  return { status: response.status, code: body['code'], field: body['field'] };
}

/** A session as the API serves it, as far as tests look at it. */
export interface SessionBody {
  state: string;
  armed: boolean;
  generation: number;
  reason: string | null;
  notice: { id: string; tasks: { id: string; summary: string }[] } | null;
  counters: { tries: number; maxRetries: number; manuals: number };
  actions: { continue: { allowed: boolean; code?: string; reason?: string }; endWatch: { allowed: boolean } };
  settings: { values: Record<string, unknown>; sources: Record<string, string> };
  trail: { kind: string; reason?: string; reasonText: string | null }[];
}

/** The session once it satisfies the condition. */
export function sessionWhen(
  watcher: RunningWatcher,
  chat: { sessionId: string },
  holds: (session: SessionBody) => boolean,
  what = 'the session to change',
): Promise<SessionBody> {
  return eventually(
    async () => {
      const response = await watcher.call(`/v1/sessions/${chat.sessionId}`);
      if (response.status !== 200) return undefined;
      const session = (await response.json()) as SessionBody;
      return holds(session) ? session : undefined;
    },
    { what },
  );
}

/** A test over a watcher of its own: `test('…', async ({ start, folders }) => …)`; everything started is stopped. */
export const test = redisTest.extend<{
  folders: Folders;
  start: (setup?: WatcherSetup) => Promise<RunningWatcher>;
}>({
  folders: async ({ redis: _redis }, use) => {
    const folders = await makeFolders();
    await use(folders);
    await folders.remove();
  },
  start: async ({ redis, folders }, use) => {
    const started: RunningWatcher[] = [];
    await use(async (setup = {}) => {
      const watcher = await startWatcher(folders, { redisUrl: redis.url, tag: redis.tag, ...setup });
      started.push(watcher);
      return watcher;
    });
    for (const watcher of started) await watcher.stop();
  },
});
