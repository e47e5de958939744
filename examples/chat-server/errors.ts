import { Problem } from '../../shared/platform/problem.ts';

/** The refusals of this server, each with its own code. */
export const unknownSession = (id: string): Problem =>
  new Problem({ status: 404, code: 'session_unknown', detail: `There is no session ${id}.`, field: 'id' });

export const sessionExists = (id: string): Problem =>
  new Problem({
    status: 409,
    code: 'session_exists',
    detail: `Session ${id} exists already.`,
    field: 'body.sessionId',
  });

export const goneSession = (id: string, reason: string): Problem =>
  new Problem({ status: 410, code: 'session_gone', detail: `Session ${id} is over: ${reason}.`, extra: { reason } });

export const busySession = (code: 'turn_running' | 'queued_follow_up' | 'waiting'): Problem =>
  new Problem({ status: 409, code, detail: BUSY[code] });

const BUSY = {
  turn_running: 'A turn is running.',
  queued_follow_up: 'A follow-up is queued behind the current turn.',
  waiting: 'The chat waits for a permission, a plan approval or an answer.',
};

export const unknownTask = (taskId: string): Problem =>
  new Problem({ status: 404, code: 'task_unknown', detail: `No running task has the id ${taskId}.`, field: 'taskId' });

export const runtimeUnavailable = (error: unknown): Problem =>
  new Problem({
    status: 503,
    code: 'runtime_unavailable',
    detail: error instanceof Error ? error.message : String(error),
    retryAfterS: 5,
  });
