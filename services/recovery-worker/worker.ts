import { DelayedError, UnrecoverableError, Worker, type Job, type Telemetry } from 'bullmq';
import { collapseErrors } from '#shared/platform/collapse.js';
import { withDeadline } from '#shared/platform/deadline.js';
import type { Logger } from '#shared/platform/logger.js';
import { closeRedis, type RedisClient } from '#shared/platform/redis.js';
import { JOBS, NEWEST_JOB_VERSION, QUEUE_NAME, type JobData, type JobName } from '#shared/queue/jobs.js';
import { queuePrefix } from '#shared/queue/queue.js';
import { backstop } from './backstop.ts';
import { continueSession, type ContinueResult } from './continue.ts';
import { evaluate } from './evaluate.ts';
import { limbo } from './limbo.ts';
import type { Next } from './next.ts';
import type { Run, WorkerParts } from './parts.ts';

/** A job that a newer program wrote is left for a newer worker; it comes round again this much later. */
const NEWER_JOB_MS = 30_000;
/** A worker whose own clock is ahead finds a deferred job due at once: it looks at most this often. */
const SKEW_POLL_MS = 1_000;

/** A watcher that is alive has taken a turn end's first step by the time its job comes, 3 s after it. */
const JUST_OVERDUE_MS = 2_000;

export interface RecoveryWorker {
  /** Takes no new job, finishes those under way; after `deadlineMs` cuts their calls off. Idempotent. */
  close(deadlineMs: number): Promise<void>;
  /** Listens anew on new connections; jobs under way end where they are. */
  restart(): void;
  /** Jobs under way. */
  active(): number;
  /** Tells of each job that is taken. */
  onTaken(listener: () => void): void;
  /** For tests: BullMQ's own worker, the newest one. */
  readonly bull: Worker;
}

export interface WorkerOptions {
  /** Makes a patient client; the worker makes its blocking one from it, and closes both. */
  connect: () => RedisClient;
  tag: string;
  concurrency: number;
  parts: WorkerParts;
  /** Told BullMQ's errors. */
  onError: (error: Error) => void;
  /** Traces; `undefined`: none. */
  telemetry?: Telemetry | undefined;
}

/** One BullMQ worker and the connection that was made for it. */
interface Listener {
  bull: Worker;
  client: RedisClient;
}

/** What a job that was cut off needs to end. */
const CUT_OFF_MS = 1_000;
/** A worker that was replaced is given this long for its last jobs. */
const RETIRE_WITHIN_MS = 30_000;

/** Joins BullMQ and the evaluation: payloads are checked on arrival, deferrals become delays, a lost lock cuts the call off. */
export function startWorker(options: WorkerOptions): RecoveryWorker {
  const { parts } = options;
  const listeners: (() => void)[] = [];
  const retiring = new Set<Promise<void>>();
  let active = 0;
  let closing: Promise<void> | undefined;

  async function process(job: Job, token: string, signal: AbortSignal | undefined): Promise<unknown> {
    active += 1;
    for (const listener of listeners) listener();
    try {
      return await runJob(parts, job, token, signal);
    } finally {
      active -= 1;
    }
  }
  let current = listen(options, process);

  async function closeAll(deadlineMs: number): Promise<void> {
    await Promise.all([drain(current, deadlineMs, parts), ...retiring]);
  }

  return {
    get bull() {
      return current.bull;
    },
    active: () => active,
    onTaken: (listener) => void listeners.push(listener),
    restart() {
      if (closing !== undefined) return;
      const ended = drain(current, RETIRE_WITHIN_MS, parts).finally(() => retiring.delete(ended));
      retiring.add(ended);
      current = listen(options, process);
    },
    close: (deadlineMs) => (closing ??= closeAll(deadlineMs)),
  };
}

type Process = (job: Job, token: string, signal: AbortSignal | undefined) => Promise<unknown>;

function listen(options: WorkerOptions, process: Process): Listener {
  const { connect, tag, concurrency, parts, onError, telemetry } = options;
  const client = connect();
  const bull: Worker = new Worker(
    QUEUE_NAME,
    // Three declared parameters: BullMQ gives the signal only then.
    (job: Job, token: string | undefined, signal: AbortSignal | undefined) => process(job, token ?? '', signal),
    {
      connection: client,
      prefix: queuePrefix(tag),
      concurrency,
      // A worker that dies is noticed within 10 to 15 s; the default of 1 would fail a job for ever after two deaths.
      lockDuration: 10_000,
      stalledInterval: 5_000,
      maxStalledCount: 100,
      ...(telemetry === undefined ? {} : { telemetry }),
    },
  );
  bull.on('error', onError);
  // A lost lock does not stop a job by itself: cut its call off, another worker may have it by now.
  bull.on('lockRenewalFailed', (jobIds: string[]) => {
    for (const id of jobIds) bull.cancelJob(id, 'lock lost');
  });
  const report = collapseErrors({ report: (err, leftOut) => parts.logger.error({ err, leftOut }, 'A job failed.') });
  bull.on('failed', (job, error) => {
    parts.logger.debug({ job: job?.id, err: error, tries: job?.attemptsMade }, 'A job failed.');
    report(error);
  });
  return { bull, client };
}

/** Never rejects: what cannot be ended well is cut off. */
async function drain({ bull, client }: Listener, deadlineMs: number, { logger }: WorkerParts): Promise<void> {
  const timer = setTimeout(() => {
    logger.warn({ deadlineMs }, 'Jobs still under way at the deadline: their calls are cut off.');
    bull.cancelAllJobs('shutdown');
  }, deadlineMs);
  try {
    await withDeadline(bull.close(), deadlineMs + CUT_OFF_MS, 'the worker');
  } catch (err) {
    // Redis is away: BullMQ would wait for it without end. Its jobs are taken up by others once their locks are over.
    logger.warn({ err }, 'A worker did not end well.');
    bull.disconnect().catch(() => undefined);
  } finally {
    clearTimeout(timer);
    await closeRedis(client);
  }
}

async function runJob(parts: WorkerParts, job: Job, token: string, signal: AbortSignal | undefined): Promise<unknown> {
  const { name, data } = await parse(job, token);
  if (name === 'backstop') return backstop(parts, JUST_OVERDUE_MS);
  const run = runOf(parts, job, data, token, signal);
  if (name === 'continue') return continueJob(parts, data, run);
  if (name === 'evaluate') observeOvershoot(parts, job, data);
  const next = name === 'evaluate' ? await evaluate(parts, data, run) : await limbo(parts, data);
  parts.metrics.decisions.inc({ reason: next.reason });
  if (parts.logger.isLevelEnabled('debug')) run.logger.debug({ next }, 'Evaluated.');
  if (next.kind === 'done') return next.reason;
  return defer(parts, job, token, next);
}

/** Most runs end with nothing to say, and a logger of its own costs more than their decision: it is made when it is used. */
function runOf(
  { logger }: WorkerParts,
  job: Job,
  { sessionId, cid }: Exclude<Parsed, { name: 'backstop' }>['data'],
  token: string,
  signal: AbortSignal | undefined,
): Run {
  let own: Logger | undefined;
  return {
    owner: token,
    signal: signal ?? new AbortController().signal,
    get logger() {
      return (own ??= logger.child({ job: job.id, sessionId, cid }));
    },
  };
}

async function continueJob(parts: WorkerParts, data: JobData<'continue'>, run: Run): Promise<ContinueResult> {
  const result = await continueSession(parts, data, run);
  run.logger.info({ result }, 'Continue.');
  return result;
}

type Parsed = { [N in JobName]: { name: N; data: JobData<N> } }[JobName];

/** The payload is outside text too: an old or newer program, or the board, may have written it. */
async function parse(job: Job, token: string): Promise<Parsed> {
  const version = (job.data as { v?: unknown } | undefined)?.v;
  if (typeof version === 'number' && version > NEWEST_JOB_VERSION) {
    await job.moveToDelayed(Date.now() + NEWER_JOB_MS, token);
    throw new DelayedError();
  }
  const schema = Object.hasOwn(JOBS, job.name) ? JOBS[job.name as JobName] : undefined;
  const result = schema?.safeParse(job.data);
  if (result?.success !== true) {
    throw new UnrecoverableError(`job ${job.name}: ${result?.error.issues[0]?.message ?? 'no such kind of work'}`);
  }
  return { name: job.name, data: result.data } as Parsed;
}

/** Only first runs count: a deferral chose its own time. */
function observeOvershoot(parts: WorkerParts, job: Job, data: JobData<'evaluate'>): void {
  if (data.why !== 'notice' || data.deferrals > 0 || data.failures > 0 || job.attemptsStarted > 1) return;
  parts.metrics.overshootSeconds.observe(Math.max(0, Date.now() - (job.timestamp + job.delay)) / 1000);
}

async function defer(
  parts: WorkerParts,
  job: Job,
  token: string,
  next: Extract<Next, { kind: 'again' }>,
): Promise<never> {
  if (Object.keys(next.data).length > 0) await job.updateData({ ...(job.data as object), ...next.data });
  const soonestMs = Date.now();
  const atMs =
    next.atMs > soonestMs ? next.atMs : soonestMs + Math.min(SKEW_POLL_MS, Math.max(1, parts.random() * SKEW_POLL_MS));
  await job.moveToDelayed(Math.ceil(atMs), token);
  throw new DelayedError();
}
