import type { DueSession, NoticedResult } from '#shared/session/store.js';
import { JOB_VERSION, type JobData } from './jobs.ts';
import type { AddOptions } from './queue.ts';

/** What both sides need to name a session's work. */
export interface WorkOf {
  sessionId: string;
  server: string;
  project: string;
  generation: number;
  path: string;
  cid: string;
}

type Planned<N extends 'evaluate' | 'limbo' | 'backstop'> = { name: N; data: JobData<N>; options: AddOptions };

const idPart = (text: string): string => text.slice(0, 16);

function evaluateData(work: WorkOf, why: JobData<'evaluate'>['why'], noticeId?: string): JobData<'evaluate'> {
  return {
    v: JOB_VERSION.evaluate,
    ...work,
    why,
    deferrals: 0,
    failures: 0,
    ...(noticeId === undefined ? {} : { noticeId }),
  };
}

/** Sees to the steps that are due by `at` and that nobody has taken. The id is the caller's: never one that was used. */
export function planBackstop(id: string, at: { dueMs: number; nowMs: number }): Planned<'backstop'> {
  return { name: 'backstop', data: { v: JOB_VERSION.backstop }, options: { jobId: `backstop-${id}`, ...at } };
}

/**
 * A kill was seen: an evaluation of its own, due when the notice has stood for the debounce. A notice that is joined by
 * another, or counts anew, has another first-seen time and so another id: no event is lost on a job that is active right now.
 */
export function planNotice(
  work: WorkOf,
  notice: { noticeId: string } & Pick<NoticedResult, 'nowMs' | 'noticeSeenMs'>,
  debounceMs: number,
): Planned<'evaluate'> {
  return {
    name: 'evaluate',
    data: evaluateData(work, 'notice', notice.noticeId),
    options: {
      jobId: `evaluate-${work.sessionId}-g${work.generation}-n${idPart(notice.noticeId)}-${notice.noticeSeenMs}`,
      dueMs: notice.noticeSeenMs + debounceMs,
      nowMs: notice.nowMs,
    },
  };
}

/**
 * An evaluation at a time that something else than the debounce names (wake grace, sweep, changed settings, resume, start).
 * Without a notice it looks whether there is one.
 */
export function planEvaluation(
  work: WorkOf,
  why: 'clock' | 'sweep' | 'settings' | 'start',
  noticeId: string | undefined,
  at: { dueMs: number; nowMs: number },
): Planned<'evaluate'> {
  return {
    name: 'evaluate',
    data: evaluateData(work, why, noticeId),
    options: { jobId: `evaluate-${work.sessionId}-g${work.generation}-${why}-${at.dueMs}`, ...at },
  };
}

/** Whether an accepted nudge brought an entry. */
export function planConfirm(
  work: WorkOf,
  attempt: { id: string; noticeId: string },
  at: { dueMs: number; nowMs: number },
): Planned<'evaluate'> {
  return {
    name: 'evaluate',
    data: { ...evaluateData(work, 'confirm', attempt.noticeId), attemptId: attempt.id },
    options: { jobId: `confirm-${work.sessionId}-${attempt.id}`, ...at },
  };
}

/** Silence after a killed task: due `limboTimeoutMs` after the hang was first surfaced. */
export function planLimbo(
  work: WorkOf,
  notice: { noticeId: string } & Pick<NoticedResult, 'nowMs' | 'firstSeenMs'>,
  limboTimeoutMs: number,
): Planned<'limbo'> {
  return {
    name: 'limbo',
    data: { v: JOB_VERSION.limbo, ...work, noticeId: notice.noticeId, limboTimeoutMs },
    options: {
      jobId: `limbo-${work.sessionId}-g${work.generation}-n${idPart(notice.noticeId)}-${limboTimeoutMs}`,
      dueMs: notice.firstSeenMs + limboTimeoutMs,
      nowMs: notice.nowMs,
    },
  };
}

/** A due session's work, as a sweep names it. */
export function workOf(due: DueSession, cid: string): WorkOf {
  const { sessionId, server, project, generation, path } = due;
  return { sessionId, server, project, generation, path, cid };
}
