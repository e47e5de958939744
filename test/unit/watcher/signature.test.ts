import { createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { decodeSecret, parseSignedTime, signingKeys, verifySender } from '../../../services/watcher/signature.ts';

const whsec = (text: string) => `whsec_${Buffer.from(text).toString('base64')}`;
const at = new Date(1_796_000_000_000);
const timestamp = String(at.getTime() / 1_000);
const body = '{"type":"message.human"}';
const keys = signingKeys([
  { id: 'a', webhookSecrets: [whsec('old secret of a'), whsec('new secret of a')] },
  { id: 'b', webhookSecrets: ['a plain secret of b'] },
]);
const sign = (secret: string, id = 'msg_1', text = body) => new Webhook(secret).sign(id, at, text);
const verify = (signature: string, id = 'msg_1', text = body) =>
  verifySender(keys, { id, timestamp, signature }, Buffer.from(text));

describe('verifySender', () => {
  test('signatures of the standardwebhooks package verify, and the secret says who sent it', () => {
    expect(verify(sign(whsec('old secret of a')))).toBe('a');
    expect(verify(sign(whsec('new secret of a')))).toBe('a');
    expect(verify(new Webhook('a plain secret of b', { format: 'raw' }).sign('msg_1', at, body))).toBe('b');
  });

  test('whatever body and id: the package’s signature holds for them and for no other', () => {
    fc.assert(
      fc.property(fc.string(), fc.stringMatching(/^[!-~]{1,40}$/), fc.string(), (text, id, other) => {
        const signature = sign(whsec('new secret of a'), id, text);
        expect(verify(signature, id, text)).toBe('a');
        fc.pre(other !== text);
        expect(verify(signature, id, other)).toBeUndefined();
        expect(verify(signature, `${id}x`, text)).toBeUndefined();
      }),
    );
  });

  test('one good signature in a list is enough, at any place', () => {
    const good = sign(whsec('new secret of a'));
    const bad = sign(whsec('somebody else’s'));
    expect(verify(`${bad} ${good}`)).toBe('a');
    expect(verify(`v1a,xyz ${good} ${bad}`)).toBe('a');
    expect(verify(`${bad} v2,${good.slice(3)}`)).toBeUndefined();
  });

  test.for(['', 'v1', 'v1,', 'v1,AAAA', 'v1,*not base64*', ' , , ', `v1,${'A'.repeat(100_000)}`])(
    'the text %j is no signature',
    (signature) => {
      expect(verify(signature)).toBeUndefined();
    },
  );

  test('a list longer than any rotation needs is not searched to its end', () => {
    const bad = sign(whsec('somebody else’s'));
    expect(
      verify(`${Array.from({ length: 16 }, () => bad).join(' ')} ${sign(whsec('new secret of a'))}`),
    ).toBeUndefined();
  });

  test('the raw bytes count, also where they are no UTF-8', () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x00, 0x22]);
    const mac = createHmac('sha256', decodeSecret('a plain secret of b')).update(`msg_1.${timestamp}.`).update(bytes);
    const signature = `v1,${mac.digest('base64')}`;
    expect(verifySender(keys, { id: 'msg_1', timestamp, signature }, bytes)).toBe('b');
  });
});

test('a signed time is whole seconds', () => {
  expect(parseSignedTime('1796000000')).toBe(1_796_000_000_000);
  for (const text of ['', '1.5', '-1', '1e9', '0x10', ' 1', '9'.repeat(13), 'NaN']) {
    expect(parseSignedTime(text)).toBeUndefined();
  }
});
