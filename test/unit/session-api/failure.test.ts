import { describe, expect, test } from 'vitest';
import {
  failureOfLie,
  failureOfNetwork,
  failureOfStatus,
  MAX_RETRY_AFTER_MS,
  parseRetryAfter,
} from '#shared/session-api/failure.js';

const NOW = Date.parse('2026-11-30T12:00:00Z');
const sort = (status: number, body?: unknown, retryAfter?: string) =>
  failureOfStatus({ status, body, retryAfter }, NOW);
const coded = (code: string) => Object.assign(new Error('it failed'), { code });

describe('an answer outside 2xx', () => {
  test.each([
    [429, 'rate-limited', false],
    [500, 'transient', true],
    [502, 'transient', true],
    [503, 'transient', true],
    [504, 'transient', true],
    [408, 'transient', true],
    [425, 'transient', true],
    [409, 'busy', false],
    [404, 'gone', false],
    [410, 'gone', false],
    [400, 'refused', false],
    [401, 'refused', false],
    [403, 'refused', false],
    [405, 'refused', false],
    [413, 'refused', false],
    [422, 'refused', false],
    [301, 'refused', false],
    [302, 'refused', false],
  ])('%i is %s, may have arrived: %s', (status, kind, mayHaveArrived) => {
    expect(sort(status)).toMatchObject({ class: kind, mayHaveArrived, status, code: `http_${status}` });
  });

  test('the body’s code is taken where it is one', () => {
    expect(sort(409, { code: 'queued_follow_up' }).code).toBe('queued_follow_up');
    expect(sort(409, { code: 17 }).code).toBe('http_409');
    expect(sort(409, { code: 'two words\n' }).code).toBe('http_409');
    expect(sort(409, 'turn_running').code).toBe('http_409');
    expect(sort(409, null).code).toBe('http_409');
  });

  test('a 429 and a 503 carry their Retry-After', () => {
    expect(sort(429, undefined, '7').retryAfterMs).toBe(7_000);
    expect(sort(503, undefined, 'Mon, 30 Nov 2026 12:00:30 GMT').retryAfterMs).toBe(30_000);
  });
});

describe('Retry-After', () => {
  test.each([
    ['0', 0],
    ['120', 120_000],
    [' 5 ', 5_000],
    ['Mon, 30 Nov 2026 12:01:00 GMT', 60_000],
    ['Monday, 30-Nov-26 12:01:00 GMT', 60_000],
    ['Mon, 30 Nov 2026 11:00:00 GMT', 0],
    ['86400', MAX_RETRY_AFTER_MS],
    ['99999999999999999999', MAX_RETRY_AFTER_MS],
    ['Tue, 30 Nov 2027 12:00:00 GMT', MAX_RETRY_AFTER_MS],
    ['-5', undefined],
    ['1.5', undefined],
    ['5 apples', undefined],
    ['soon', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%j is %s ms', (text, expected) => {
    expect(parseRetryAfter(text, NOW)).toBe(expected);
  });
});

describe('an error of the connection', () => {
  test('may have arrived only where the request had begun to be written', () => {
    expect(failureOfNetwork(coded('ECONNREFUSED'), false)).toMatchObject({
      class: 'network',
      code: 'ECONNREFUSED',
      mayHaveArrived: false,
    });
    expect(failureOfNetwork(coded('ECONNRESET'), true)).toMatchObject({ class: 'network', mayHaveArrived: true });
    expect(failureOfNetwork(coded('timeout'), true)).toMatchObject({ code: 'timeout', mayHaveArrived: true });
  });

  test('a request that cannot be formed is refused: repeating it is pointless', () => {
    expect(failureOfNetwork(coded('UND_ERR_INVALID_ARG'), false)).toMatchObject({
      class: 'refused',
      mayHaveArrived: false,
    });
  });

  test('whatever was thrown becomes a failure with its cause', () => {
    const cause = new Error('odd');
    expect(failureOfNetwork(cause, true)).toMatchObject({ code: 'network_error', cause });
    expect(failureOfNetwork('a text', false)).toMatchObject({ class: 'network', code: 'network_error' });
  });
});

test('a success that is not the contract’s leaves the outcome open', () => {
  expect(failureOfLie(200, 'an HTML page')).toMatchObject({
    class: 'transient',
    code: 'invalid_answer',
    mayHaveArrived: true,
    status: 200,
  });
});
