import { DelayedError, UnrecoverableError, Worker, type ConnectionOptions, type Job } from 'bullmq';
import { JOB_VERSION, JOBS, QUEUE_NAME, type JobData, type JobName } from '#shared/queue/jobs.js';
import { queuePrefix } from '#shared/queue/queue.js';
import { continueSession, type ContinueResult } from './continue.ts';
import { evaluate } from './evaluate.ts';
import { limbo } from './limbo.ts';
import type { Next } from './next.ts';
import type { Run, WorkerParts } from './parts.ts';

/** A job that a newer program wrote is left for a newer worker; it comes round again this much later. */
const NEWER_JOB_MS = 30_000;
/** A worker whose own clock is ahead finds a deferred job due at once: it looks at most this often. */
const SKEW_POLL_MS = 1_000;

export interface RecoveryWorker {
  /** Takes no new job, finishes those under way; after `deadlineMs` cuts their calls off. Idempotent. */
  close(deadlineMs: number): Promise<void>;
  /** For tests and metrics: BullMQ's own events. */
  readonly bull: Worker;
}

export interface WorkerOptions {
  /** A patient client; the worker makes its blocking one from it. */
  connection: ConnectionOptions;
  tag: string;
  concurrency: number;
  parts: WorkerParts;
}

/** Joins BullMQ and the evaluation: payloads are checked on arrival, deferrals become delays, a lost lock cuts the call off. */
export function startWorker({ connection, tag, concurrency, parts }: WorkerOptions): RecoveryWorker {
  const bull: Worker = new Worker(
    QUEUE_NAME,
    // Three declared parameters: BullMQ gives the signal only then.
    (job: Job, token: string | undefined, signal: AbortSignal | undefined) => runJob(parts, job, token ?? '', signal),
    {
      connection,
      prefix: queuePrefix(tag),
      concurrency,
      // A worker that dies is noticed within 10 to 15 s; the default of 1 would fail a job for ever after two deaths.
      lockDuration: 10_000,
      stalledInterval: 5_000,
      maxStalledCount: 100,
    },
  );
  // A lost lock does not stop a job by itself: cut its call off, another worker may have it by now.
  bull.on('lockRenewalFailed', (jobIds: string[]) => {
    for (const id of jobIds) bull.cancelJob(id, 'lock lost');
  });
  bull.on('failed', (job, error) => {
    parts.logger.error({ job: job?.id, err: error, tries: job?.attemptsMade }, 'A job failed.');
  });
  return { bull, close: (deadlineMs) => drain(bull, deadlineMs, parts) };
}

async function drain(bull: Worker, deadlineMs: number, parts: WorkerParts): Promise<void> {
  const timer = setTimeout(() => {
    parts.logger.warn({ deadlineMs }, 'Jobs still under way at the deadline: their calls are cut off.');
    bull.cancelAllJobs('shutdown');
  }, deadlineMs);
  try {
    await bull.close();
  } finally {
    clearTimeout(timer);
  }
}

async function runJob(parts: WorkerParts, job: Job, token: string, signal: AbortSignal | undefined): Promise<unknown> {
  const { name, data } = await parse(job, token);
  const logger = parts.logger.child({ job: job.id, sessionId: data.sessionId, cid: data.cid });
  const run: Run = { owner: token, signal: signal ?? new AbortController().signal, logger };
  if (name === 'continue') return continueJob(parts, data, run);
  if (name === 'evaluate') observeOvershoot(parts, job, data);
  const next = name === 'evaluate' ? await evaluate(parts, data, run) : await limbo(parts, data);
  parts.metrics.decisions.inc({ reason: next.reason });
  logger.debug({ next }, 'Evaluated.');
  if (next.kind === 'done') return next.reason;
  return defer(parts, job, token, next);
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
  if (typeof version === 'number' && version > JOB_VERSION) {
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
