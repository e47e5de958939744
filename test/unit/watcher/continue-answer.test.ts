import { expect, test } from 'vitest';
import { Problem } from '#shared/platform/problem.js';
import { answerOf } from '../../../services/watcher/continue-answer.ts';

const refusalOf = (result: unknown) => {
  try {
    return answerOf(result);
  } catch (error) {
    if (error instanceof Problem)
      return { status: error.fields.status, code: error.fields.code, ...error.fields.extra };
    throw error;
  }
};

test.for([
  [
    { result: 'nudged', attemptId: 'a', turnId: 't' },
    { outcome: 'nudged', attemptId: 'a', turnId: 't', detail: null },
  ],
  [
    { result: 'unconfirmed', detail: 'timeout' },
    { outcome: 'unconfirmed', attemptId: null, turnId: null, detail: 'timeout' },
  ],
  [
    { result: 'busy', reason: 'turn-running' },
    { status: 409, code: 'busy', reason: 'turn-running' },
  ],
  [
    { result: 'not_hung', reason: 'verdict-clear' },
    { status: 409, code: 'not_hung', reason: 'verdict-clear' },
  ],
  [
    { result: 'gone', reason: 'session-gone' },
    { status: 409, code: 'not_hung', reason: 'session-gone' },
  ],
  [
    { result: 'surface_off', reason: 'surface-off' },
    { status: 403, code: 'surface_off', reason: 'surface-off' },
  ],
  [
    { result: 'unknown', reason: 'session-unknown' },
    { status: 404, code: 'session_unknown', reason: 'session-unknown' },
  ],
  [
    { result: 'unavailable', part: 'session-api', detail: 'ECONNREFUSED' },
    { status: 502, code: 'session_api_failed', part: 'session-api' },
  ],
  ['something else', { status: 502, code: 'worker_failed', part: 'worker' }],
] as const)('%j', ([result, wanted]) => {
  expect(refusalOf(result)).toEqual(wanted);
});
