import { Queue, QueueEvents, type ConnectionOptions, type JobsOptions, type Telemetry } from 'bullmq';
import { withDeadline } from '#shared/platform/deadline.js';
import { QUEUE_NAME, type JobData, type JobName } from './jobs.ts';

/** BullMQ's prefix: its keys carry the same hash tag as ours, so that both live in one slot. */
export function queuePrefix(tag: string): string {
  return `{${tag}}`;
}

/**
 * How jobs are kept and repeated. The last thousand of each kind stay for the board; the trail, not the queue, is the history.
 * A job that throws (Redis or disk trouble, never a session API's answer) is tried again for about four minutes; after that
 * the sweep plans the session anew.
 */
export const JOB_OPTIONS = {
  removeOnComplete: { count: 1_000 },
  removeOnFail: { count: 1_000 },
  attempts: 10,
  backoff: { type: 'exponential', delay: 500 },
} as const satisfies JobsOptions;

const FREE_AT_ONCE = 100;

export interface AddOptions {
  /** Never repeated for new work: a reused id is ignored without a word while the old job exists. */
  jobId: string;
  /** When it is due and what time it is, both Redis time: a producer's clock that is off delays nothing. */
  dueMs: number;
  nowMs: number;
}

/** The producer's side of the queue. Every call has a deadline of its own: BullMQ would wait for a connection for ever. */
export interface RecoveryQueue {
  /** Adds a job, or nothing where the id is known. Throws after `deadlineMs`; the add may then still have happened. */
  add<N extends JobName>(name: N, data: JobData<N>, options: AddOptions): Promise<void>;
  addMany(jobs: { [N in JobName]: { name: N; data: JobData<N>; options: AddOptions } }[JobName][]): Promise<void>;
  /**
   * Adds a job due now and waits for what its worker returns.
   * Throws {@link NoAnswer} when none came in time, an error with the job's message when it failed.
   */
  request<N extends JobName>(
    name: N,
    data: JobData<N>,
    options: { jobId: string; nowMs: number; timeoutMs: number },
  ): Promise<unknown>;
  /**
   * Makes the first `count` delayed jobs (a hundred at most) due now. One that was not due yet puts itself off again, so
   * this may be asked twice. Resolves with how many there were.
   */
  free(count: number): Promise<number>;
  /** For the board: the one in use now. */
  readonly bull: Queue;
  close(): Promise<void>;
}

/** No worker answered in time. */
export class NoAnswer extends Error {
  constructor(timeoutMs: number) {
    super(`no worker answered within ${timeoutMs} ms`);
    this.name = 'NoAnswer';
  }
}

export interface QueueOptions {
  /** A fail-fast client for adding. */
  connection: ConnectionOptions;
  /** Makes the patient client that waits for answers; called at the first `request` only. */
  answers: () => ConnectionOptions;
  tag: string;
  deadlineMs: number;
  onError: (error: Error) => void;
  /** Traces; `undefined`: none. */
  telemetry?: Telemetry | undefined;
}

/** Makes the queue's producer side. Closes what it made, never the clients that it was given. */
export function createRecoveryQueue({
  connection,
  answers,
  tag,
  deadlineMs,
  onError,
  telemetry,
}: QueueOptions): RecoveryQueue {
  const prefix = queuePrefix(tag);
  const current = renewed(() => {
    const bull = new Queue(QUEUE_NAME, { connection, prefix, ...(telemetry === undefined ? {} : { telemetry }) });
    bull.on('error', onError);
    return bull;
  }, onError);
  let events: QueueEvents | undefined;
  const listen = (): QueueEvents => {
    if (events === undefined) {
      events = new QueueEvents(QUEUE_NAME, { connection: answers(), prefix });
      events.on('error', onError);
    }
    return events;
  };
  const timed = <T>(work: Promise<T>) => withDeadline(work, deadlineMs, 'the queue');

  return {
    get bull() {
      return current();
    },
    async add(name, data, options) {
      await timed(current().add(name, data, jobOptions(options)));
    },
    async addMany(jobs) {
      if (jobs.length === 0) return;
      await timed(
        current().addBulk(jobs.map(({ name, data, options }) => ({ name, data, opts: jobOptions(options) }))),
      );
    },
    async request(name, data, { jobId, nowMs, timeoutMs }) {
      const answered = listen();
      await timed(answered.waitUntilReady());
      const job = await timed(
        current().add(name, data, { ...jobOptions({ jobId, dueMs: nowMs, nowMs }), attempts: 1 }),
      );
      return job.waitUntilFinished(answered, timeoutMs).catch((error: unknown) => {
        if (error instanceof Error && error.message.includes('timed out')) throw new NoAnswer(timeoutMs);
        throw error;
      });
    },
    async free(count) {
      const jobs = count < 1 ? [] : await timed(current().getDelayed(0, Math.min(count, FREE_AT_ONCE) - 1));
      // One that a worker took meanwhile is not delayed any more, which is all that was wanted.
      await timed(Promise.allSettled(jobs.map((job) => job.promote())));
      return jobs.length;
    },
    async close() {
      await events?.close();
      await current().close();
    },
  };
}

/**
 * BullMQ asks Redis for its version when it begins and keeps the outcome for ever: where that one answer did not come in time (a
 * slow Redis at the start), every later call would fail with it, long after Redis is well again (found by the chaos run). So
 * one that began badly is replaced.
 */
function renewed(make: () => Queue, onError: (error: Error) => void): () => Queue {
  let failed = false;
  const begin = (): Queue => {
    const begun = make();
    failed = false;
    // Its error is told by the queue itself.
    begun.waitUntilReady().catch(() => {
      failed = true;
    });
    return begun;
  };
  let queue = begin();
  return () => {
    if (!failed) return queue;
    queue.close().catch(onError);
    queue = begin();
    return queue;
  };
}

function jobOptions({ jobId, dueMs, nowMs }: AddOptions): JobsOptions {
  return { ...JOB_OPTIONS, jobId, timestamp: nowMs, delay: Math.max(0, Math.ceil(dueMs - nowMs)) };
}
