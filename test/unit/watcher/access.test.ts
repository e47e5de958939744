import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createChatTokens } from '../../../services/watcher/access/chat-tokens.ts';
import { openness } from '../../../services/watcher/access/openness.ts';
import { confines, maySee, type Principal } from '../../../services/watcher/access/principal.ts';
import { createSigner } from '../../../services/watcher/access/signed.ts';
import { trustedProxies } from '../../../services/watcher/base-path.ts';
import { safeNext } from '../../../services/watcher/routes/login.ts';
import { loadSettings } from '#shared/settings/environment.js';

describe('signed values', () => {
  const signer = createSigner('a secret', 'login');

  test('come back as they were until their time is over', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string()),
        fc.nat(1_000_000),
        (given, lastsMs) => {
          const { expiresMs: _taken, nonce: _own, ...claims } = { ...given, expiresMs: '', nonce: '' };
          const value = signer.sign(claims, 1_000 + lastsMs);
          expect(signer.verify(value, 1_000 + lastsMs - 1)?.claims).toEqual(claims);
          expect(signer.verify(value, 1_000 + lastsMs)).toBeUndefined();
        },
      ),
    );
  });

  test('one character more, less or other is none of ours; nor is another secret’s or another purpose’s', () => {
    const value = signer.sign({ a: 'b' }, 2_000);
    fc.assert(
      fc.property(fc.nat(value.length - 1), fc.constantFrom('', 'A', '.', '-', 'zz'), (at, put) => {
        const changed = value.slice(0, at) + put + value.slice(at + 1);
        // The last character of base64url carries bits that mean nothing; the text is compared, so it counts all the same.
        fc.pre(changed !== value);
        expect(signer.verify(changed, 1_000)).toBeUndefined();
      }),
    );
    expect(createSigner('a secret', 'chat').verify(value, 1_000)).toBeUndefined();
    expect(createSigner('another', 'login').verify(value, 1_000)).toBeUndefined();
  });

  test('whatever is shown never throws', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(signer.verify(text, 0)).toBeUndefined();
      }),
    );
  });
});

test('a chat server’s token is its own, and what it mints is for one of its chats', () => {
  const servers = loadSettings(
    { HOME: '/h' },
    {
      chatServers: ['a', 'b'].map((id) => ({ id, accessToken: `token of ${id}`, webhookSecrets: [`secret of ${id}`] })),
    },
  ).settings.chatServers;
  const tokens = createChatTokens(servers, 1_000);
  expect(tokens.whose('token of b', 0)).toEqual({ role: 'chat-server', serverId: 'b' });
  const minted = tokens.mint({ sessionId: 's', server: 'b' }, 5_000);
  expect(minted?.expiresMs).toBe(6_000);
  const who = tokens.whose(minted?.token ?? '', 5_999);
  expect(who).toEqual({ role: 'chat', serverId: 'b', sessionId: 's' });
  expect(tokens.whose(minted?.token ?? '', 6_000)).toBeUndefined();
  expect(tokens.mint({ sessionId: 's', server: 'gone' }, 0)).toBeUndefined();
});

test('who may see what', () => {
  const session = { sessionId: 's', server: 'a' };
  const cases: [Principal, boolean, object][] = [
    [{ role: 'operator', by: 'token' }, true, {}],
    [{ role: 'chat-server', serverId: 'a' }, true, { server: 'a' }],
    [{ role: 'chat-server', serverId: 'b' }, false, { server: 'b' }],
    [{ role: 'chat', serverId: 'a', sessionId: 's' }, true, { server: 'a', sessionId: 's' }],
    [{ role: 'chat', serverId: 'a', sessionId: 't' }, false, { server: 'a', sessionId: 't' }],
    // The session went to another chat server after the token was minted.
    [{ role: 'chat', serverId: 'b', sessionId: 's' }, false, { server: 'b', sessionId: 's' }],
  ];
  for (const [who, sees, limits] of cases)
    expect([who, maySee(who, session), confines(who)]).toEqual([who, sees, limits]);
});

test('a login leads on to a path of ours, whatever was asked', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.webUrl(),
        fc.string().map((text) => `/${text}`),
      ),
      (given) => {
        const next = safeNext(given);
        expect(new URL(next, 'https://ours.example').origin).toBe('https://ours.example');
      },
    ),
  );
  expect(safeNext('/v1/x?y=1#z')).toBe('/v1/x?y=1#z');
});

test('what stands open is said', () => {
  const said = (env: Record<string, string>) => openness(loadSettings({ HOME: '/h', ...env }).settings);
  expect(said({})).toEqual([expect.stringContaining('ADMIN_TOKEN'), expect.stringContaining('WEBHOOK_SECRETS')]);
  expect(said({ ADMIN_TOKEN: 'short', WEBHOOK_SECRETS: 's' })).toEqual([expect.stringContaining('fewer than 16')]);
  expect(said({ ADMIN_TOKEN: 'a token that is long enough', WEBHOOK_SECRETS: 's' })).toEqual([]);
});

test('proxies are trusted by number or address, and nobody is by default', () => {
  expect([undefined, '1', 'loopback, 10.0.0.0/8'].map(trustedProxies)).toEqual([false, 1, 'loopback, 10.0.0.0/8']);
});
