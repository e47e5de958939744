import { describe, expect, it } from 'vitest';
import { parseRedisAddress, shownRedisUrl } from '#shared/platform/redis-address.js';

describe('an address of Redis', () => {
  it.each(['redis://127.0.0.1:6379', 'rediss://user:pass@host:6380/2', 'unix:///run/redis.sock'])(
    'one server: %s',
    (url) => expect(parseRedisAddress(url)).toEqual({ kind: 'single', url }),
  );

  it('sentinels, with the master’s name, a database and passwords', () => {
    expect(parseRedisAddress('redis+sentinel://app:p%40ss@s1:26379,s2,[::1]:7/main/3?sentinelPassword=x%20y')).toEqual({
      kind: 'sentinel',
      nodes: [
        { host: 's1', port: 26_379 },
        { host: 's2', port: 26_379 },
        { host: '::1', port: 7 },
      ],
      username: 'app',
      password: 'p@ss',
      tls: false,
      masterName: 'main',
      db: 3,
      sentinelPassword: 'x y',
    });
  });

  it('a cluster, over TLS', () => {
    expect(parseRedisAddress('rediss+cluster://:secret@a:7001,b:7002')).toEqual({
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 7_001 },
        { host: 'b', port: 7_002 },
      ],
      username: undefined,
      password: 'secret',
      tls: true,
    });
  });

  it.each([
    'localhost:6379',
    'http://x',
    'redis+sentinel://s1:26379',
    'redis+sentinel://s1:26379/',
    'redis+sentinel://s1:26379/main/x',
    'redis+cluster://a:7001/2',
    'redis+cluster://a:70010000',
    'redis+cluster://a:0',
    'redis+cluster://',
    'redis+cluster://a,,b',
    'redis+other://a:1',
    '',
  ])('none: %j', (text) => expect(parseRedisAddress(text)).toBeUndefined());
});

describe('as it is shown', () => {
  it.each([
    ['redis://127.0.0.1:6379', 'redis://127.0.0.1:6379'],
    ['redis://user:hush@h:1', 'redis://user:***@h:1'],
    ['redis://:hush@h:1', 'redis://:***@h:1'],
    ['redis+sentinel://hush@a:1,b:2/m?sentinelPassword=hush', 'redis+sentinel://***@a:1,b:2/m?sentinelPassword=***'],
    ['redis+cluster://u:hu:sh@a:1,b:2', 'redis+cluster://u:***@a:1,b:2'],
    ['nothing with a hush', '(not a Redis address)'],
  ])('%s', (url, shown) => expect(shownRedisUrl(url)).toBe(shown));
});
