import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRedis } from '#shared/platform/redis.js';
import { silentLogger } from '#shared/platform/logger.js';
import { JOB_VERSION } from '#shared/queue/jobs.js';
import { planEvaluation, type WorkOf } from '#shared/queue/plan.js';
import { createRecoveryQueue, type RecoveryQueue } from '#shared/queue/queue.js';
import type { SessionStore } from '#shared/session/store.js';
import { loadSettings } from '#shared/settings/environment.js';
import { buildWorker, type BuildOptions, type WorkerService } from '../../../services/recovery-worker/build.ts';
import { SessionApiStandIn } from '../../support/session-api-stand-in.ts';
import { TestTranscript } from '../../support/transcript.ts';
import { test as redisTest, type RedisFixture } from '../../support/redis.ts';
import { Chat, PROJECT, SERVER, publish, storeOn } from '../session/support.ts';

export { describe, expect } from '../../support/redis.ts';

/** A debounce that a test can wait for. */
export const DEBOUNCE_MS = 150;

/** One deployment's worth of real parts around the worker under test; the watcher's part is played by the test. */
export class Bench {
  readonly redis: RedisFixture;
  readonly api: SessionApiStandIn;
  readonly root = mkdtempSync(join(tmpdir(), 'chat-recovery-worker-'));
  readonly store: SessionStore;
  readonly queue: RecoveryQueue;
  readonly #workers: WorkerService[] = [];
  readonly #clients;

  constructor(redis: RedisFixture, api: SessionApiStandIn) {
    this.redis = redis;
    this.api = api;
    this.store = storeOn(redis);
    const client = (name: string) =>
      createRedis({ url: redis.url, role: 'patient', name: `${redis.tag}:bench:${name}`, logger: silentLogger() });
    this.#clients = [client('queue'), client('answers')] as const;
    const [connection, answers] = this.#clients;
    this.queue = createRecoveryQueue({
      connection,
      answers: () => answers,
      tag: redis.tag,
      deadlineMs: 5_000,
      onError: () => undefined,
    });
  }

  async worker(env: Record<string, string> = {}, options: BuildOptions = {}): Promise<WorkerService> {
    const { settings } = loadSettings({
      REDIS_URL: this.redis.url,
      REDIS_HASH_TAG: this.redis.tag,
      SESSION_API_URL: this.api.url,
      TRANSCRIPT_ROOTS: this.root,
      RECOVERY_SETTLE_MS: '0',
      SESSION_API_TIMEOUT_MS: '500',
      NUDGE_CONFIRM_MS: '300',
      WAKE_GRACE_MS: '300',
      LOG_LEVEL: 'silent',
      ...env,
    });
    const worker = buildWorker(settings, options);
    this.#workers.push(worker);
    await worker.ready();
    return worker;
  }

  /** A chat whose turn has ended and whose task was killed, armed and known to the session API. */
  async hungChat(settings: Parameters<typeof publish>[1] = {}): Promise<HungChat> {
    const chat = new Chat(this.store);
    const transcript = new TestTranscript(this.root, chat.id);
    const task = transcript.hang();
    await publish(this.store, { debounceMs: DEBOUNCE_MS, ...settings });
    this.api.add(chat.id, { project: PROJECT });
    await chat.turnEnded(0, {}, { arm: { path: transcript.path, armed: true, auto: true, reason: 'armed' } });
    return { chat, transcript, task };
  }

  /** A backstop step's evaluation, due now. */
  async look({ chat, transcript }: HungChat): Promise<void> {
    const { generation } = await chat.record();
    const work: WorkOf = {
      sessionId: chat.id,
      server: SERVER,
      project: PROJECT,
      generation,
      path: transcript.path,
      cid: 'test',
    };
    const nowMs = await this.store.now();
    const { name, data, options } = planEvaluation(work, 'sweep', undefined, { dueMs: nowMs, nowMs });
    // Two of the same millisecond are two.
    await this.queue.add(name, data, { ...options, jobId: `${options.jobId}-${randomUUID()}` });
  }

  async press({ chat, transcript }: HungChat): Promise<unknown> {
    const { generation } = await chat.record();
    const data = {
      v: JOB_VERSION.continue,
      sessionId: chat.id,
      server: SERVER,
      project: PROJECT,
      generation,
      path: transcript.path,
      cid: 'test',
    };
    const nowMs = await this.store.now();
    return this.queue.request('continue', data, { jobId: `continue-${randomUUID()}`, nowMs, timeoutMs: 5_000 });
  }

  async state({ chat }: HungChat): Promise<string> {
    return (await chat.record()).state;
  }

  async trail({ chat }: HungChat): Promise<string[]> {
    return (await this.store.trail(chat.id)).map(({ kind, reason }) =>
      reason === undefined ? kind : `${kind}: ${reason}`,
    );
  }

  /** No job is waiting, active or due within the next second. */
  async idle(): Promise<boolean> {
    const counts = await this.queue.bull.getJobCounts('waiting', 'active', 'delayed');
    return Object.values(counts).every((count) => count === 0);
  }

  async close(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.close()));
    await this.queue.close();
    await Promise.all(this.#clients.map((client) => client.quit()));
    await this.api.close();
    rmSync(this.root, { recursive: true, force: true });
  }
}

export interface HungChat {
  chat: Chat;
  transcript: TestTranscript;
  task: { taskId: string; toolUseId: string };
}

/** A test with a {@link Bench} of its own. */
export const test = redisTest.extend<{ bench: Bench }>({
  bench: async ({ redis }, use) => {
    const bench = new Bench(redis, await SessionApiStandIn.start());
    await use(bench);
    await bench.close();
  },
});
