import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { createLogger } from '#shared/platform/logger.js';

function logged(object: object): string {
  let text = '';
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  createLogger({ level: 'info', name: 'test', destination }).info(object, 'A line.');
  return text;
}

test.for([
  { token: 'hush' },
  { authorization: 'Bearer hush' },
  { req: { headers: { authorization: 'hush', cookie: 'hush', 'set-cookie': 'hush', 'webhook-signature': 'hush' } } },
  { settings: { adminToken: 'hush', sessionApi: { token: 'hush' } } },
  { server: { webhookSecrets: ['hush'] } },
  { a: { b: { c: { secret: 'hush' } } } },
])('a secret never reaches the log: %j', (object) => {
  expect(logged(object)).not.toContain('hush');
  expect(logged(object)).toContain('[hidden]');
});

test('the arguments of a failed Redis command stay out of the log', () => {
  const err = Object.assign(new Error('READONLY'), { command: { name: 'set', args: ['key', 'hush'] } });
  expect(logged({ err })).not.toContain('hush');
  expect(logged({ err })).toContain('READONLY');
});

test('everything else is written, the object first and then the sentence', () => {
  expect(JSON.parse(logged({ sessionId: 'abc' }))).toMatchObject({ name: 'test', sessionId: 'abc', msg: 'A line.' });
});
