import type { JobData, JobName } from '#shared/queue/jobs.js';
import { JOB_VERSION } from '#shared/queue/jobs.js';
import { Problem } from '#shared/platform/problem.js';
import { NoAnswer } from '#shared/queue/queue.js';
import { manualAttemptId } from '#shared/session/attempt.js';
import type { SessionRecord } from '#shared/session/record.js';
import type { Published } from './published.ts';
import type { WatcherCore } from './ports.ts';
import { isRedisAway, needsRedis } from './redis-away.ts';
import { answerOf } from './continue-answer.ts';
import { mayContinue } from './session-view.ts';

/** Work that a caller waits for. */
export interface JobRequester {
  /** Adds a job due now and resolves with what its worker returns; throws {@link NoAnswer} when none came in time. */
  request<N extends JobName>(
    name: N,
    data: JobData<N>,
    options: { jobId: string; nowMs: number; timeoutMs: number },
  ): Promise<unknown>;
  /** Takes a job back that no worker has taken yet. `false`: one is at it (or it is done). */
  withdraw(jobId: string): Promise<boolean>;
}

export interface ContinueParts {
  core: WatcherCore;
  published: Published;
  requests: JobRequester;
  /** How long a caller waits for a worker; SPEC §6: 10 s in all. */
  continueTimeoutMs: number;
}

/**
 * A person pressed Continue: a worker judges the chat and nudges it, and its outcome is the answer (SPEC §6).
 *
 * Throws {@link Problem} 403 `surface_off`, 409 `busy` or `not_hung`, 502, 503 or 504 naming the part that failed or stayed
 * silent. What no worker took in time is taken back: a click must not act an hour later.
 */
export async function continueSession(parts: ContinueParts, record: SessionRecord, cid: string): Promise<object> {
  const { core, published } = parts;
  const server = core.settings.chatServers.find((candidate) => candidate.id === record.server);
  if (server === undefined) throw notHung('Its chat server is no longer in the settings.');
  const { values } = await needsRedis(() => published.project(server, record.project));
  const allowed = mayContinue(record, values);
  if (!allowed.allowed && allowed.code === 'surface_off') {
    throw new Problem({ status: 403, code: 'surface_off', detail: allowed.reason });
  }
  if (record.state === 'closed') throw notHung('The session is closed.');
  if (record.path === undefined) throw notHung('No turn of this session has ended yet, so no transcript is known.');
  const nowMs = await needsRedis(() => core.store.now());
  // The attempt's id keeps two clicks from being two nudges. The job's id has the moment in it as well: a finished job
  // keeps its id, and its old answer ("busy") is no answer to a later click.
  const jobId = `continue-${manualAttemptId(record)}-${nowMs}`;
  return answerOf(await answered(parts, jobData(record, record.path, cid), jobId, nowMs));
}

function jobData(record: SessionRecord, path: string, cid: string): JobData<'continue'> {
  const { sessionId, server, project, generation, notice } = record;
  const data = { v: JOB_VERSION.continue, sessionId, server, project, generation, path, cid };
  return notice === undefined ? data : { ...data, noticeId: notice.id };
}

async function answered(
  { requests, continueTimeoutMs }: ContinueParts,
  data: JobData<'continue'>,
  jobId: string,
  nowMs: number,
): Promise<unknown> {
  try {
    return await requests.request('continue', data, { jobId, nowMs, timeoutMs: continueTimeoutMs });
  } catch (error) {
    if (error instanceof NoAnswer) throw await silentPart(requests, jobId, continueTimeoutMs);
    if (isRedisAway(error)) throw unreachable(503, 'redis', 'redis_unavailable', 'Redis cannot be reached; try again.');
    if (error instanceof Error) {
      throw unreachable(502, 'worker', 'worker_failed', 'The worker could not carry it out; the log has the reason.');
    }
    throw error;
  }
}

/** Who did not answer: no worker took the job, or the one that did still waits for the session API. */
async function silentPart(requests: JobRequester, jobId: string, timeoutMs: number): Promise<Problem> {
  const seconds = timeoutMs / 1_000;
  try {
    return (await requests.withdraw(jobId))
      ? unreachable(504, 'worker', 'no_worker', `No worker took it within ${seconds} s; nothing was sent.`)
      : unreachable(
          504,
          'session-api',
          'session_api_slow',
          `The session API has not answered within ${seconds} s; the session's trail will say what became of it.`,
        );
  } catch {
    return unreachable(504, 'redis', 'redis_unavailable', `Redis did not answer within ${seconds} s.`);
  }
}

function unreachable(status: number, part: string, code: string, detail: string): Problem {
  return new Problem({ status, code, detail, extra: { part }, ...(status === 503 ? { retryAfterS: 1 } : {}) });
}

function notHung(detail: string): Problem {
  return new Problem({ status: 409, code: 'not_hung', detail });
}
