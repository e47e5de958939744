import { get, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { Chat } from './chat.ts';
import { ADMIN, describe, expect, problemOf, sessionWhen, test, turnEnded, type RunningWatcher } from './harness.ts';

const SERVER_TOKEN = 'token-of-the-default-chat-server';
const UNKNOWN = '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11';

interface OpenApi {
  paths: Record<string, Record<string, { security?: Record<string, string[]>[] }>>;
}

/** Every operation of the served document, its parameters filled in. */
async function operations(watcher: RunningWatcher) {
  const document = (await (await fetch(`${watcher.url}/openapi.json`)).json()) as OpenApi;
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { security = [] }]) => ({
      method: method.toUpperCase(),
      path: path.replace('{id}', UNKNOWN).replace('{slug}', 'p1'),
      schemes: security.flatMap((each) => Object.keys(each)),
    })),
  );
}

const send = (watcher: RunningWatcher, path: string, method: string, headers: Record<string, string> = {}) =>
  fetch(`${watcher.url}${path}`, { method, headers, redirect: 'manual' });

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

/** As a browser's form does it. */
const login = (watcher: RunningWatcher, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  fetch(`${watcher.url}/login`, {
    method: 'POST',
    body: new URLSearchParams(fields),
    headers: { 'sec-fetch-site': 'same-origin', ...headers },
    redirect: 'manual',
  });

async function cookieOf(watcher: RunningWatcher): Promise<string> {
  const answer = await login(watcher, { token: ADMIN });
  return answer.headers.get('set-cookie')?.split(';')[0] ?? '';
}

describe('without credentials', () => {
  test('each protected operation of the OpenAPI document is 401, and none is forgotten', async ({ start }) => {
    const watcher = await start();
    const all = await operations(watcher);
    const open = all.filter(({ schemes }) => schemes.length === 0).map(({ method, path }) => `${method} ${path}`);
    expect(open.toSorted()).toEqual(
      ['GET /healthz', 'GET /login', 'GET /openapi.json', 'GET /readyz', 'POST /login', 'POST /logout'].toSorted(),
    );
    // Deliveries prove themselves by their signature, over a body: tests of their own.
    const guarded = all.filter(({ schemes }) => schemes.length > 0 && !schemes.includes('webhook'));
    expect(guarded.length).toBeGreaterThan(14);
    for (const { method, path } of guarded) {
      const answer = await send(watcher, path, method);
      expect({ method, path, ...(await problemOf(answer)) }).toMatchObject({ status: 401, code: 'unauthorized' });
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="chat-recovery"');
      const wrong = await send(watcher, path, method, bearer('wrong'));
      expect({ method, path, status: wrong.status }).toEqual({ method, path, status: 401 });
    }
    for (const path of [
      '/',
      '/page/main.js',
      '/admin/queues',
      '/admin/queues/api/queues',
      '/v1/anything',
      '/V1/Sessions',
    ]) {
      expect({ path, status: (await send(watcher, path, 'GET')).status }).toEqual({ path, status: 401 });
    }
  });

  test('a browser is led to the login and back, never to another site', async ({ start }) => {
    const watcher = await start();
    const page = await send(watcher, '/admin/queues?x=1', 'GET', { accept: 'text/html' });
    expect([page.status, page.headers.get('location')]).toEqual([303, '/login?next=%2Fadmin%2Fqueues%3Fx%3D1']);
    const back = await login(watcher, { token: ADMIN, next: '/admin/queues?x=1' });
    expect([back.status, back.headers.get('location')]).toEqual([303, '/admin/queues?x=1']);
    for (const next of [
      '//evil.example',
      '/\\evil.example',
      'https://evil.example',
      '/a b',
      '/login?next=/login',
      '',
    ]) {
      expect([next, (await login(watcher, { token: ADMIN, next })).headers.get('location')]).toEqual([next, '/']);
    }
    const form = await (await send(watcher, '/login?next=%2F%22%3E%3Cscript%3E', 'GET')).text();
    expect(form).toContain('value="/&quot;&gt;&lt;script&gt;"');
  });
});

describe('a login', () => {
  test('is a cookie that no script, other site or plain connection behind TLS gets', async ({ start }) => {
    const watcher = await start({ env: { TRUST_PROXY: 'loopback' } });
    const plain = (await login(watcher, { token: ADMIN })).headers.get('set-cookie') ?? '';
    expect(plain).toMatch(
      /^chat_recovery_login=[\w.-]+; Max-Age=43200; Path=\/; Expires=[^;]+; HttpOnly; SameSite=Strict$/,
    );
    expect(plain).not.toContain(ADMIN);
    const secure = await login(watcher, { token: ADMIN }, { 'x-forwarded-proto': 'https' });
    expect(secure.headers.get('set-cookie')).toContain('; Secure');
  });

  test('opens page, API, board and settings; what changes something must come from our own page', async ({ start }) => {
    const watcher = await start();
    const cookie = await cookieOf(watcher);
    for (const path of ['/v1/sessions', '/metrics', '/v1/projects/p1/recovery', '/admin/queues']) {
      expect({ path, status: (await send(watcher, path, 'GET', { cookie })).status }).toEqual({ path, status: 200 });
    }
    expect(await (await send(watcher, '/v1/access', 'GET', { cookie })).json()).toMatchObject({
      role: 'operator',
      by: 'login',
      loginExpiresMs: expect.any(Number),
    });
    const from = (headers: Record<string, string>) => send(watcher, '/v1/pause', 'POST', { cookie, ...headers });
    const { host } = new URL(watcher.url);
    const cases: [Record<string, string>, number][] = [
      [{}, 403],
      [{ origin: 'null' }, 403],
      [{ origin: 'https://evil.example' }, 403],
      [{ origin: `http://${host}`, 'sec-fetch-site': 'cross-site' }, 403],
      [{ origin: `http://${host}`, 'sec-fetch-site': 'same-site' }, 403],
      [{ 'sec-fetch-site': 'none' }, 403],
      [{ origin: `http://${host}` }, 200],
      [{ 'sec-fetch-site': 'same-origin' }, 200],
    ];
    for (const [headers, status] of cases) {
      const answer = await from(headers);
      expect({ headers, status: answer.status }).toEqual({ headers, status });
      if (status === 403) expect(await problemOf(answer)).toMatchObject({ code: 'cross_site' });
    }
    const board = await send(watcher, '/admin/queues/api/queues/recovery/pause', 'PUT', { cookie });
    expect(board.status).toBe(403);
  });

  test('ends with its time, with the token it was made with, and by one changed character', async ({ start }) => {
    const watcher = await start({ env: { LOGIN_TTL: '0' } });
    const other = await start({ env: { ADMIN_TOKEN: 'another-admin-token' } });
    const expired = await cookieOf(watcher);
    expect((await send(watcher, '/v1/sessions', 'GET', { cookie: expired })).status).toBe(401);
    const lasting = await start();
    const cookie = await cookieOf(lasting);
    expect((await send(lasting, '/v1/sessions', 'GET', { cookie })).status).toBe(200);
    expect((await send(other, '/v1/sessions', 'GET', { cookie })).status).toBe(401);
    const at = cookie.indexOf('=') + 3;
    const changed = cookie.slice(0, at) + (cookie[at] === 'A' ? 'B' : 'A') + cookie.slice(at + 1);
    expect((await send(lasting, '/v1/sessions', 'GET', { cookie: changed })).status).toBe(401);
    for (const junk of [
      'chat_recovery_login=',
      'chat_recovery_login=..',
      'chat_recovery_login=a.b',
      `x=1; ${cookie}x`,
    ]) {
      expect({ junk, status: (await send(lasting, '/v1/sessions', 'GET', { cookie: junk })).status }).toEqual({
        junk,
        status: 401,
      });
    }
    // A neighbour's cookie of the same name does not lock anybody out.
    const both = `chat_recovery_login=theirs; ${cookie}`;
    expect((await send(lasting, '/v1/sessions', 'GET', { cookie: both })).status).toBe(200);
    const out = await fetch(`${lasting.url}/logout`, {
      method: 'POST',
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
      redirect: 'manual',
    });
    expect(out.headers.get('set-cookie')).toMatch(/^chat_recovery_login=; Path=\/; Expires=Thu, 01 Jan 1970/);
  });

  test('is refused to another site’s form, and after ten wrong tries to everybody at that address', async ({
    start,
  }) => {
    const watcher = await start();
    expect((await login(watcher, { token: ADMIN }, { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    const wrong = await login(watcher, { token: 'guess' });
    expect([wrong.status, wrong.headers.get('set-cookie')]).toEqual([401, null]);
    expect(await wrong.text()).toContain('That is not the admin token.');
    for (let tries = 2; tries < 10; tries += 1) expect((await login(watcher, { token: 'guess' })).status).toBe(401);
    const limited = await login(watcher, { token: ADMIN });
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(600);
    expect(limited.headers.get('content-type')).toContain('application/problem+json');
    expect(await problemOf(limited)).toMatchObject({ status: 429, code: 'too_many_requests' });
  });

  test('a program that guesses tokens is stopped; a login stays as it is', async ({ start }) => {
    const watcher = await start();
    const cookie = await cookieOf(watcher);
    const guess = (token: string) => send(watcher, '/v1/sessions', 'GET', bearer(token));
    for (let tries = 0; tries < 60; tries += 1) await guess(`guess ${tries}`);
    const limited = await guess(ADMIN);
    expect({ ...(await problemOf(limited)), after: Number(limited.headers.get('retry-after')) > 0 }).toMatchObject({
      status: 429,
      after: true,
    });
    expect((await send(watcher, '/v1/sessions', 'GET', { cookie })).status).toBe(200);
  });

  test('HTTP Basic still works for programs, and not for another site’s page', async ({ start }) => {
    const watcher = await start();
    const authorization = `Basic ${Buffer.from(`anybody:${ADMIN}`).toString('base64')}`;
    expect((await send(watcher, '/v1/sessions', 'GET', { authorization })).status).toBe(200);
    const foreign = await send(watcher, '/v1/sessions', 'GET', { authorization, 'sec-fetch-site': 'cross-site' });
    expect(foreign.status).toBe(403);
  });
});

/** Two chat servers, each with a token and a chat of its own. */
async function twoServers(start: (setup: object) => Promise<RunningWatcher>, transcripts: string) {
  const server = (id: string) => ({
    id,
    webhookSecrets: [`secret of ${id}`],
    accessToken: `access-token-of-${id}`,
    transcriptRoots: [transcripts],
  });
  const file = { chatServers: [server('a'), server('b')] };
  const watcher = await start({ file, tuning: { continueTimeoutMs: 300 } });
  const chats = { a: new Chat(transcripts), b: new Chat(transcripts) };
  for (const [id, chat] of Object.entries(chats)) {
    await chat.begin();
    const secret = Buffer.from(`secret of ${id}`).toString('base64');
    expect((await watcher.deliver(turnEnded(chat), { secret })).status).toBe(202);
    await sessionWhen(watcher, chat, ({ armed }) => armed);
  }
  return { watcher, chats };
}

describe('a chat server’s token', () => {
  test('reads and continues its own chats only, and nothing else', async ({ start, folders }) => {
    const { watcher, chats } = await twoServers(start, folders.transcripts);
    const as = (path: string, method = 'GET') => send(watcher, path, method, bearer('access-token-of-a'));
    const listed = async (query: string) =>
      ((await (await as(`/v1/sessions${query}`)).json()) as { sessions: { sessionId: string }[] }).sessions.map(
        (s) => s.sessionId,
      );

    expect(await listed('')).toEqual([chats.a.sessionId]);
    expect(await listed('?server=b')).toEqual([chats.a.sessionId]);
    expect(await listed(`?ids=${chats.a.sessionId},${chats.b.sessionId}`)).toEqual([chats.a.sessionId]);
    expect((await as(`/v1/sessions/${chats.a.sessionId}`)).status).toBe(200);
    expect(await problemOf(await as(`/v1/sessions/${chats.a.sessionId}/continue`, 'POST'))).toMatchObject({
      code: 'no_worker',
    });
    for (const [path, method] of [
      ['', 'GET'],
      ['/continue', 'POST'],
      ['/token', 'POST'],
    ]) {
      const answer = await as(`/v1/sessions/${chats.b.sessionId}${path}`, method);
      expect({ path, ...(await problemOf(answer)) }).toMatchObject({ status: 404, code: 'session_unknown' });
    }
    for (const { method, path, schemes } of await operations(watcher)) {
      if (!schemes.includes('admin') || schemes.includes('chatServer')) continue;
      expect({ method, path, ...(await problemOf(await as(path, method))) }).toMatchObject({
        status: 403,
        code: 'out_of_scope',
      });
    }
    expect((await as('/admin/queues')).status).toBe(403);
  });

  test('mints a token for one chat’s page: that chat, a few minutes, from any origin', async ({ start, folders }) => {
    const { watcher, chats } = await twoServers(start, folders.transcripts);
    const mint = await send(watcher, `/v1/sessions/${chats.a.sessionId}/token`, 'POST', bearer('access-token-of-a'));
    expect(mint.status).toBe(201);
    const { token, expiresMs } = (await mint.json()) as { token: string; expiresMs: number };
    expect(expiresMs - Date.now()).toBeGreaterThan(590_000);
    expect(expiresMs - Date.now()).toBeLessThanOrEqual(600_000);

    const origin = 'https://chat.example';
    const as = (path: string, method = 'GET') =>
      send(watcher, path, method, { ...bearer(token), origin, 'sec-fetch-site': 'cross-site' });
    const own = await as(`/v1/sessions/${chats.a.sessionId}`);
    expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    expect(await own.json()).toMatchObject({ sessionId: chats.a.sessionId, path: null });
    expect((await as(`/v1/sessions/${chats.b.sessionId}`)).status).toBe(404);
    for (const { method, path, schemes } of await operations(watcher)) {
      if (!schemes.includes('admin') || schemes.includes('chat')) continue;
      expect({ method, path, ...(await problemOf(await as(path, method))) }).toMatchObject({
        status: 403,
        code: 'out_of_scope',
      });
    }
    const preflight = await send(watcher, `/v1/sessions/${chats.a.sessionId}/continue`, 'OPTIONS', { origin });
    expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'authorization, content-type, last-event-id',
    ]);
    expect(
      (await send(watcher, '/v1/pause', 'OPTIONS', { origin })).headers.get('access-control-allow-origin'),
    ).toBeNull();
  });

  test('a chat’s token may stand in the address of a stream, the chat server’s own may not', async ({
    start,
    folders,
  }) => {
    const { watcher, chats } = await twoServers(start, folders.transcripts);
    const mint = await send(watcher, `/v1/sessions/${chats.a.sessionId}/token`, 'POST', bearer('access-token-of-a'));
    const { token } = (await mint.json()) as { token: string };
    const stop = new AbortController();
    const stream = await fetch(`${watcher.url}/v1/events/stream?session=${chats.b.sessionId}&access_token=${token}`, {
      signal: stop.signal,
    });
    expect(stream.status).toBe(200);
    stop.abort();
    const server = await fetch(`${watcher.url}/v1/events/stream?access_token=access-token-of-a`);
    expect(server.status).toBe(401);
  });

  test('ends with its time; another server’s token and one made up are nobody’s', async ({ start, folders }) => {
    const watcher = await start({ env: { CHAT_SERVER_TOKEN: SERVER_TOKEN, SESSION_TOKEN_TTL: '0' } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    const mint = await send(watcher, `/v1/sessions/${chat.sessionId}/token`, 'POST', bearer(SERVER_TOKEN));
    const { token } = (await mint.json()) as { token: string };
    for (const shown of [token, 'crs_', 'crs_a.b', `crs_${token}`, 'access-token-of-a']) {
      const answer = await send(watcher, `/v1/sessions/${chat.sessionId}`, 'GET', bearer(shown));
      expect({ shown, status: answer.status }).toEqual({ shown, status: 401 });
    }
  });

  test('without one nothing can be minted, and it is said which setting is missing', async ({ start, folders }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    const answer = await watcher.call(`/v1/sessions/${chat.sessionId}/token`, { method: 'POST' });
    expect(await problemOf(answer)).toMatchObject({ status: 409, code: 'no_server_token' });
  });
});

describe('deliveries', () => {
  test('over the limit of an address are 429, to be sent again', async ({ start, folders }) => {
    const watcher = await start({ env: { WEBHOOK_RATE_LIMIT: '2' } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    for (const atMs of [1, 2]) expect((await watcher.deliver(turnEnded(chat, {}, Date.now() + atMs))).status).toBe(202);
    const answer = await watcher.deliver(turnEnded(chat));
    expect({ ...(await problemOf(answer)), wait: Number(answer.headers.get('retry-after')) > 0 }).toMatchObject({
      status: 429,
      code: 'too_many_requests',
      wait: true,
    });
    expect(await watcher.metrics.registry.metrics()).toContain('outcome="limited"');
  });
});

describe('behind a path', () => {
  test.for([
    ['a proxy that keeps it', '/ops/recovery', {}],
    ['a proxy that strips it', '', {}],
  ] as const)('page, API, board and login work: %s', async ([, kept], { start }) => {
    const watcher = await start({ env: { BASE_PATH: '/ops/recovery' } });
    const answer = await send(watcher, `${kept}/admin/queues`, 'GET', { accept: 'text/html' });
    expect(answer.headers.get('location')).toBe('/ops/recovery/login?next=%2Fadmin%2Fqueues');
    const done = await fetch(`${watcher.url}${kept}/login`, {
      method: 'POST',
      body: new URLSearchParams({ token: ADMIN, next: '/admin/queues' }),
      headers: { 'sec-fetch-site': 'same-origin' },
      redirect: 'manual',
    });
    expect(done.headers.get('location')).toBe('/ops/recovery/admin/queues');
    expect(done.headers.get('set-cookie')).toContain('Path=/ops/recovery;');
    const cookie = done.headers.get('set-cookie')?.split(';')[0] ?? '';
    await boardLoads(watcher, { outside: '/ops/recovery', inside: kept, headers: { cookie } });
  });

  test('a trusted proxy may name the path; anybody else may not', async ({ start }) => {
    const trusting = await start({ env: { TRUST_PROXY: '1' } });
    const headers = { ...bearer(ADMIN), 'x-forwarded-prefix': '/named/' };
    await boardLoads(trusting, { outside: '/named', inside: '', headers });
    for (const bad of ['/a"><script>', '//evil.example', '/a/../b']) {
      const page = await (
        await send(trusting, '/admin/queues', 'GET', { ...headers, 'x-forwarded-prefix': bad })
      ).text();
      expect(page).toContain('<base href="/admin/queues/"');
    }
    const page = await (await send(await start(), '/admin/queues', 'GET', headers)).text();
    expect(page).toContain('<base href="/admin/queues/"');
  });

  test('the path alone leads to the page', async ({ start }) => {
    const watcher = await start({ env: { BASE_PATH: '/ops/recovery' } });
    const answer = await send(watcher, '/ops/recovery?a=1', 'GET');
    expect([answer.status, answer.headers.get('location')]).toEqual([308, '/ops/recovery/?a=1']);
  });
});

/** The board's page and everything that it loads, each at the address that a browser would ask. */
async function boardLoads(
  watcher: RunningWatcher,
  { outside, inside, headers }: { outside: string; inside: string; headers: Record<string, string> },
): Promise<void> {
  const page = await (await send(watcher, `${inside}/admin/queues`, 'GET', headers)).text();
  const base = /<base href="([^"]+)"/.exec(page)?.[1] ?? '';
  expect(base).toBe(`${outside}/admin/queues/`);
  const assets = [...page.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(([, path = '']) => path);
  expect(assets.length).toBeGreaterThan(3);
  for (const asset of assets) {
    const address = `${inside}${new URL(asset, `http://x${base}`).pathname.slice(outside.length)}`;
    const answer = await send(watcher, address, 'GET', headers);
    // Read to its end: what is left unread keeps its connection.
    const { byteLength } = await answer.arrayBuffer();
    expect({ address, status: answer.status, some: byteLength > 0 }).toEqual({ address, status: 200, some: true });
  }
  expect((await send(watcher, `${inside}/admin/queues/api/queues`, 'GET', headers)).status).toBe(200);
}

describe('open on loopback', () => {
  test('whoever is on the machine is the operator, and no web page is', async ({ start }) => {
    const watcher = await start({ env: { ADMIN_TOKEN: '', WEBHOOK_SECRETS: '' } });
    expect(await (await send(watcher, '/v1/access', 'GET')).json()).toMatchObject({ role: 'operator', by: 'open' });
    expect((await send(watcher, '/v1/pause', 'POST', { origin: 'https://evil.example' })).status).toBe(403);
    expect((await send(watcher, '/login', 'GET')).headers.get('location')).toBe('/');
    expect(await viaHost(watcher.url, 'evil.example')).toBe(403);
  });
});

/** `fetch` lets nobody choose the Host. */
async function viaHost(url: string, host: string): Promise<number | undefined> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${url}/v1/sessions`, { headers: { host } }, resolve).on('error', reject);
  });
  await text(answer);
  return answer.statusCode;
}
