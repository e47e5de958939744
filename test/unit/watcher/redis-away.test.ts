import { describe, expect, test } from 'vitest';
import { Problem } from '#shared/platform/problem.js';
import { isRedisAway, needsRedis } from '../../../services/watcher/redis-away.ts';

const named = (name: string, message: string) => Object.assign(new Error(message), { name });
const system = (code: string) => Object.assign(new Error(`connect ${code}`), { code, syscall: 'connect' });

describe('what counts as Redis being away', () => {
  test.for([
    named('ReplyError', "OOM command not allowed when used memory > 'maxmemory'."),
    named('ReplyError', 'READONLY You can’t write against a read only replica.'),
    named('ReplyError', 'ERR script: 0a1b, on @user_script:1: NOREPLICAS Not enough good replicas to write.'),
    named('ReplyError', 'MISCONF Redis is configured to save RDB snapshots'),
    named('MaxRetriesPerRequestError', 'Reached the max retries per request limit'),
    new Error('Connection is closed.'),
    new Error('Command timed out'),
    new Error("Stream isn't writeable and enableOfflineQueue options is false"),
    system('ECONNREFUSED'),
  ])('$message', (error) => {
    expect(isRedisAway(error)).toBe(true);
  });

  test.for([
    new TypeError('x is not a function'),
    named('ReplyError', 'ERR Error running script: attempt to index a nil value'),
    new Error('anything'),
    Object.assign(new Error('no file'), { code: 'ENOENT' }),
  ])('not: $message', (error) => {
    expect(isRedisAway(error)).toBe(false);
  });
});

test('work that takes too long is refused with 503, its late failure ignored', async () => {
  const late = new Promise((_, reject) => setTimeout(() => reject(new Error('late')), 30));
  const refusal = await needsRedis(() => late, 10).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(Problem);
  expect((refusal as Problem).fields).toMatchObject({ status: 503, code: 'redis_unavailable', retryAfterS: 1 });
  await late.catch(() => undefined);
});

test('a problem and an error of our own go through as they are', async () => {
  const problem = new Problem({ status: 409, code: 'x', detail: 'y' });
  await expect(needsRedis(() => Promise.reject(problem))).rejects.toBe(problem);
  const bug = new TypeError('bug');
  await expect(needsRedis(() => Promise.reject(bug))).rejects.toBe(bug);
});
