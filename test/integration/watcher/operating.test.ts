import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually } from '../../support/events.ts';
import { Chat } from './chat.ts';
import {
  ADMIN,
  describe,
  event,
  expect,
  problemOf,
  sessionWhen,
  test,
  turnEnded,
  vi,
  type RunningWatcher,
} from './harness.ts';
import { evaluations, waitingJobs } from './queue-jobs.ts';

async function killedChat(watcher: RunningWatcher, chat: Chat): Promise<void> {
  await chat.begin();
  await watcher.background.caughtUp;
  await watcher.deliver(turnEnded(chat));
  await chat.kill();
  await sessionWhen(watcher, chat, (body) => body.state === 'killed');
}
const post = { method: 'POST' };

describe('sessions', () => {
  test('one session in full: state and reason in words, notice, counters, actions, settings, trail', async ({
    start,
    folders,
  }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await killedChat(watcher, chat);

    const session = await sessionWhen(watcher, chat, () => true);

    expect(session).toMatchObject({
      state: 'killed',
      armed: true,
      counters: { tries: 0, maxRetries: 1, manuals: 0 },
      actions: { continue: { allowed: true }, endWatch: { allowed: true } },
      settings: { values: { debounceMs: 5_000 }, sources: { debounceMs: 'default' } },
    });
    expect(session.trail[0]).toMatchObject({ kind: 'turn-ended', reasonText: expect.stringContaining('off') });
  });

  test('the list is filtered by server, project and state, and paged', async ({ start, folders }) => {
    const watcher = await start();
    const chats = [1, 2, 3].map(() => new Chat(folders.transcripts));
    for (const [index, chat] of chats.entries()) {
      await chat.begin();
      await watcher.deliver(turnEnded(chat, { project: index === 0 ? '' : 'p1' }));
    }
    const list = async (query: string) => {
      const body = (await (await watcher.call(`/v1/sessions?${query}`)).json()) as {
        sessions: { sessionId: string }[];
        next: string | null;
      };
      return { ids: body.sessions.map((session) => session.sessionId), next: body.next };
    };
    const [root, second, third] = chats.map((chat) => chat.sessionId);
    expect((await list('')).ids).toEqual([third, second, root]);
    expect((await list('project=p1')).ids).toEqual([third, second]);
    expect((await list('project=~root')).ids).toEqual([root]);
    expect((await list('state=killed')).ids).toEqual([]);
    expect((await list('server=default&state=watching')).ids).toHaveLength(3);
    const page = await list('limit=2');
    expect(page.ids).toEqual([third, second]);
    expect((await list(`limit=2&cursor=${page.next}`)).ids).toEqual([root]);
    expect(await problemOf(await watcher.call('/v1/sessions?limit=many'))).toEqual({
      status: 422,
      code: 'invalid_parameter',
      field: 'limit',
    });
    expect(await problemOf(await watcher.call('/v1/sessions?state=sleepy'))).toMatchObject({ field: 'state' });
  });

  test('an unknown session is 404, an id that is none is 422, on every call', async ({ start }) => {
    const watcher = await start();
    const unknown = '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11';
    for (const [method, path] of [
      ['GET', ''],
      ['POST', '/continue'],
      ['DELETE', '/watch'],
    ]) {
      const init = { method: method ?? '' };
      expect(await problemOf(await watcher.call(`/v1/sessions/${unknown}${path}`, init))).toMatchObject({
        status: 404,
        code: 'session_unknown',
      });
      expect(await problemOf(await watcher.call(`/v1/sessions/no-id${path}`, init))).toMatchObject({
        status: 422,
        code: 'invalid_session_id',
      });
    }
  });
});

describe('continue', () => {
  test('with no worker it is 504 naming the worker, and the click is taken back', async ({ start, folders, redis }) => {
    const watcher = await start({ tuning: { continueTimeoutMs: 300 } });
    const chat = new Chat(folders.transcripts);
    await killedChat(watcher, chat);

    const answer = await watcher.call(`/v1/sessions/${chat.sessionId}/continue`, post);

    expect(answer.status).toBe(504);
    expect(await answer.json()).toMatchObject({ code: 'no_worker', part: 'worker' });
    expect((await waitingJobs(redis)).filter((job) => job.name === 'continue')).toEqual([]);
  });

  test('with surfacing off it is 403, whatever the state', async ({ start, folders }) => {
    const watcher = await start({ env: { PADDOCK_RECOVERY_SURFACE: 'off', PADDOCK_RECOVERY_AUTODRIVE: '1' } });
    const chat = new Chat(folders.transcripts);
    await killedChat(watcher, chat);
    const answer = await watcher.call(`/v1/sessions/${chat.sessionId}/continue`, post);
    expect(await problemOf(answer)).toMatchObject({ status: 403, code: 'surface_off' });
    const session = await sessionWhen(watcher, chat, () => true);
    expect(session.notice).not.toBeNull();
    expect(session.actions.continue).toMatchObject({ allowed: false, code: 'surface_off' });
  });

  test('a closed session is not hung', async ({ start, folders }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await killedChat(watcher, chat);
    await watcher.deliver(event('session.closed', chat, { reason: 'ended' }));
    const answer = await watcher.call(`/v1/sessions/${chat.sessionId}/continue`, post);
    expect(await problemOf(answer)).toMatchObject({ status: 409, code: 'not_hung' });
  });
});

describe('the off switch', () => {
  test('pause and resume are kept in Redis, with who did it', async ({ start }) => {
    const watcher = await start();
    const body = { body: JSON.stringify({ by: 'Ada' }), headers: { 'content-type': 'application/json' } };
    expect((await watcher.call('/v1/pause', { ...post, ...body })).status).toBe(200);
    expect(await watcher.store.paused()).toMatchObject({ paused: true, by: 'Ada' });
    expect(await (await watcher.call('/v1/pause')).json()).toMatchObject({ paused: true, by: 'Ada' });
    expect((await watcher.call('/v1/resume', post)).status).toBe(200);
    expect(await watcher.store.paused()).toMatchObject({ paused: false });
  });

  test('a broken body is 400, a wrong one 422', async ({ start }) => {
    const watcher = await start();
    const headers = { 'content-type': 'application/json' };
    const broken = await watcher.call('/v1/pause', { ...post, headers, body: '{"by":' });
    expect(await problemOf(broken)).toMatchObject({ status: 400, code: 'invalid_json' });
    const wrong = await watcher.call('/v1/pause', { ...post, headers, body: '{"by":7}' });
    expect(await problemOf(wrong)).toMatchObject({ status: 422, field: 'by' });
  });
});

const path = '/v1/projects/p1/recovery';
const patch = (body: unknown) => ({
  method: 'PATCH',
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

describe('project settings', () => {
  test('an override is read, changed, published, and cleared; comments stay', async ({ start, folders }) => {
    const watcher = await start();
    await mkdir(join(folders.projects, 'p1'));
    const file = join(folders.projects, 'p1', 'project.yaml');
    await writeFile(file, '# mine\nname: P1\n');
    const chat = new Chat(folders.transcripts);
    await killedChat(watcher, chat);

    const changed = await watcher.call(path, patch({ autoReDrive: true, maxRetries: 3 }));
    expect(await changed.json()).toMatchObject({
      server: 'default',
      project: 'p1',
      override: { autoReDrive: true, maxRetries: 3 },
      effective: {
        values: { maxRetries: 3, debounceMs: 5_000 },
        sources: { maxRetries: 'project', debounceMs: 'default' },
      },
    });
    expect(await readFile(file, 'utf8')).toContain('# mine');
    await eventually(async () => (await watcher.store.context(chat.sessionId)).settings?.values.maxRetries === 3);

    await watcher.call(path, { method: 'DELETE' });
    expect(await (await watcher.call(path)).json()).toMatchObject({ exists: true, override: {} });
  });

  test('an edit of the file plans a standing notice anew, and the session’s chat can then be nudged', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start();
    await mkdir(join(folders.projects, 'p1'));
    const chat = new Chat(folders.transcripts);
    await killedChat(watcher, chat);
    expect(await evaluations(redis, 'settings')).toEqual([]);

    await writeFile(join(folders.projects, 'p1', 'project.yaml'), 'recovery:\n  autoReDrive: true\n');

    const jobs = await eventually(
      async () => {
        const found = await evaluations(redis, 'settings');
        return found.length > 0 ? found : undefined;
      },
      { timeoutMs: 10_000 },
    );
    expect(jobs[0]?.data).toMatchObject({ sessionId: chat.sessionId });
  });

  test('what is wrong is named', async ({ start, folders }) => {
    const watcher = await start();
    await mkdir(join(folders.projects, 'broken'));
    await writeFile(join(folders.projects, 'broken', 'project.yaml'), 'recovery: [\n');
    await mkdir(join(folders.projects, 'p1'));
    await writeFile(join(folders.projects, 'p1', 'project.yaml'), 'name: x\n');
    const cases = [
      ['/v1/projects/a..b/recovery', {}, 422, 'invalid_slug'],
      ['/v1/projects/a%2Fb/recovery', {}, 422, 'invalid_slug'],
      ['/v1/projects/%2e%2e/recovery', {}, 404, 'not_found'],
      ['/v1/projects/unheard-of/recovery', { autoReDrive: true }, 404, 'project_unknown'],
      ['/v1/projects/broken/recovery', { autoReDrive: true }, 409, 'project_file_invalid'],
      [path, { debounceMs: -1 }, 422, 'invalid_setting'],
      [path, [], 422, 'invalid_setting'],
      [`${path}?server=nobody`, {}, 404, 'server_unknown'],
    ] as const;
    for (const [where, body, status, code] of cases) {
      expect({ where, ...(await problemOf(await watcher.call(where, patch(body)))) }).toMatchObject({
        where,
        status,
        code,
      });
    }
    expect((await watcher.call('/v1/projects/~root/recovery')).status).toBe(200);
  });

  test('with several chat servers one must be named', async ({ start, folders }) => {
    const server = (id: string) => ({
      id,
      webhookSecrets: [`secret of ${id}`],
      transcriptRoots: [folders.transcripts],
    });
    const watcher = await start({ file: { chatServers: [server('a'), server('b')] } });
    expect(await problemOf(await watcher.call(path))).toEqual({
      status: 400,
      code: 'server_required',
      field: 'server',
    });
    expect(await (await watcher.call(`${path}?server=b`)).json()).toMatchObject({ server: 'b' });
  });
});

describe('health and access', () => {
  test('liveness, readiness part by part, metrics', async ({ start }) => {
    const watcher = await start({ env: { SESSION_API_URL: 'http://127.0.0.1:1', SESSION_API_TOKEN: 'x' } });
    expect(await (await fetch(`${watcher.url}/healthz`)).json()).toEqual({ status: 'ok' });
    const ready = await fetch(`${watcher.url}/readyz`);
    // A session API that is down holds up its own recoveries only.
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({
      status: 'ready',
      parts: {
        redis: { ok: true },
        queue: { ok: true, workersAlive: 0, overdueMs: 0 },
        sessionApis: [{ serverId: 'default', ok: false }],
        watching: { ok: true },
      },
    });
    watcher.drain();
    const draining = await fetch(`${watcher.url}/readyz`);
    expect({ status: draining.status, body: await draining.json() }).toMatchObject({
      status: 503,
      body: { status: 'stopping' },
    });
    const metrics = await (await watcher.call('/metrics')).text();
    expect(metrics).toContain('chat_recovery_webhooks_total');
  });

  test('R38: no worker for too long makes it not ready, by name, and shows as a metric', async ({ start }) => {
    const watcher = await start({ tuning: { queueHealth: { absenceMs: 0 } } });
    const ready = await fetch(`${watcher.url}/readyz`);
    expect({ status: ready.status, body: await ready.json() }).toMatchObject({
      status: 503,
      body: { status: 'not-ready', parts: { redis: { ok: true }, queue: { ok: false, workersAlive: 0 } } },
    });
    expect(await (await watcher.call('/metrics')).text()).toMatch(/^chat_recovery_workers_alive 0$/m);
  });

  test('without credentials every guarded route is 401; bearer and Basic open it', async ({ start }) => {
    const watcher = await start();
    const guarded = [
      '/v1/sessions',
      '/v1/pause',
      '/v1/projects/p1/recovery',
      '/metrics',
      '/admin/queues',
      '/v1/anything',
    ];
    for (const route of guarded) {
      const answer = await fetch(`${watcher.url}${route}`);
      expect({ route, ...(await problemOf(answer)) }).toMatchObject({ route, status: 401, code: 'unauthorized' });
      expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    }
    const wrong = await fetch(`${watcher.url}/v1/sessions`, { headers: { authorization: 'Bearer nope' } });
    expect(wrong.status).toBe(401);
    const basic = `Basic ${Buffer.from(`anybody:${ADMIN}`).toString('base64')}`;
    const board = await fetch(`${watcher.url}/admin/queues`, { headers: { authorization: basic } });
    expect({ status: board.status, html: (await board.text()).includes('<html') }).toEqual({ status: 200, html: true });
  });

  test('R46: the board shows the queue and changes nothing', async ({ start, folders }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    const queues = await (await watcher.call('/admin/queues/api/queues')).json();
    expect(queues).toMatchObject({ queues: [{ name: 'recovery', readOnlyMode: true, counts: { delayed: 1 } }] });
    const clean = await watcher.call('/admin/queues/api/queues/recovery/clean/delayed', { method: 'PUT' });
    expect(clean.status).toBeGreaterThanOrEqual(400);
  });

  test('every answer carries safe headers and no internals', async ({ start }) => {
    const watcher = await start();
    const answer = await watcher.call('/v1/sessions');
    expect(answer.headers.get('x-powered-by')).toBeNull();
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    vi.spyOn(watcher.store, 'list').mockRejectedValueOnce(new Error('secret detail'));
    const broken = await watcher.call('/v1/sessions');
    const text = await broken.text();
    expect(broken.status).toBe(500);
    expect(text).not.toContain('secret detail');
  });
});
