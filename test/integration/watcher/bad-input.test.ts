import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { Chat } from './chat.ts';
import { describe, event, expect, problemOf, test, turnEnded } from './harness.ts';

const SESSION = { sessionId: '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11', path: '/nowhere' };

describe('a delivery that is refused says what is wrong with it', () => {
  const headerCases = [
    ['no webhook-id', { 'webhook-id': '' }, 400, 'invalid_header', 'webhook-id'],
    ['a webhook-id with a space in it', { 'webhook-id': 'a b' }, 400, 'invalid_header', 'webhook-id'],
    ['no webhook-timestamp', { 'webhook-timestamp': '' }, 400, 'invalid_header', 'webhook-timestamp'],
    [
      'a webhook-timestamp that is no number',
      { 'webhook-timestamp': 'now' },
      400,
      'invalid_header',
      'webhook-timestamp',
    ],
    ['no webhook-signature', { 'webhook-signature': '' }, 400, 'invalid_header', 'webhook-signature'],
    ['a wrong signature', { 'webhook-signature': 'v1,AAAA' }, 401, 'invalid_signature', 'webhook-signature'],
    ['another id than was signed', { 'webhook-id': 'msg_other' }, 401, 'invalid_signature', 'webhook-signature'],
    ['another time than was signed', { 'webhook-timestamp': '1' }, 401, 'invalid_signature', 'webhook-signature'],
    ['another content type', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type', 'content-type'],
  ] as const;
  test.for(headerCases)('%s', async ([, headers, status, code, field], { start }) => {
    const watcher = await start();
    const answer = await watcher.deliver(event('message.human', SESSION), { headers });
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
    expect(await problemOf(answer)).toEqual({ status, code, field });
  });

  test('R49: a signature of an unknown secret', async ({ start }) => {
    const watcher = await start();
    const answer = await watcher.deliver(event('message.human', SESSION), {
      secret: Buffer.from('not a secret of ours').toString('base64'),
    });
    expect(await problemOf(answer)).toMatchObject({ status: 401, code: 'invalid_signature' });
  });

  test.for([
    ['signed long ago', -301_000],
    ['signed in the future', 302_000],
  ] as const)('%s', async ([, offsetMs], { start }) => {
    const watcher = await start();
    const signedAt = new Date(Date.now() + offsetMs);
    const answer = await watcher.deliver(event('message.human', SESSION), { signedAt });
    expect(await problemOf(answer)).toEqual({
      status: 401,
      code: 'timestamp_out_of_tolerance',
      field: 'webhook-timestamp',
    });
  });

  test('a stamp that is more than 5 s ahead of the signed time', async ({ start }) => {
    const watcher = await start();
    const ahead = await watcher.deliver(event('message.human', SESSION, {}, Date.now() + 8_000));
    expect(await problemOf(ahead)).toEqual({ status: 422, code: 'timestamp_ahead', field: 'timestamp' });
    const within = await watcher.deliver(event('message.human', SESSION, {}, Date.now() + 3_000));
    expect(within.status).toBe(202);
  });

  const bodyCases = [
    ['a body that is no JSON', '{"type":', 400, 'invalid_json', undefined],
    ['an empty body', '', 400, 'invalid_json', undefined],
    ['null', 'null', 422, 'unknown_type', 'type'],
    ['an unknown type', { ...event('turn.paused', SESSION) }, 422, 'unknown_type', 'type'],
    [
      'a session id that is no id',
      event('message.human', { sessionId: '../../etc/passwd' }),
      422,
      'invalid_event',
      'data.sessionId',
    ],
    [
      'a project that is a path',
      event('message.human', SESSION, { project: '../p' }),
      422,
      'invalid_event',
      'data.project',
    ],
    ['no project', event('message.human', SESSION, { project: undefined }), 422, 'invalid_event', 'data.project'],
    [
      'a stamp that is no time',
      { ...event('message.human', SESSION), timestamp: 'yesterday' },
      422,
      'invalid_event',
      'timestamp',
    ],
    ['an unknown drive mode', turnEnded(SESSION, { driveMode: 'turbo' }), 422, 'invalid_event', 'data.driveMode'],
    [
      'neither path nor cwd',
      turnEnded(SESSION, { transcriptPath: undefined }),
      422,
      'invalid_event',
      'data.transcriptPath',
    ],
    [
      'a path outside the roots',
      turnEnded(SESSION, { transcriptPath: '/etc/passwd' }),
      422,
      'transcript_path_outside_roots',
      'data.transcriptPath',
    ],
    [
      'a path with NUL in it',
      turnEnded(SESSION, { transcriptPath: '/etc\0/x' }),
      422,
      'transcript_path_outside_roots',
      'data.transcriptPath',
    ],
  ] as const;
  test.for(bodyCases)('%s', async ([, body, status, code, field], { start, redis }) => {
    const watcher = await start();
    const answer = await watcher.deliver(body);
    expect(await problemOf(answer)).toEqual({ status, code, field });
    expect(await redis.client.keys(`{${redis.tag}}:s*`)).toEqual([]);
  });

  test('R49: a path through a symbolic link that leaves the roots, and one that climbs out', async ({
    start,
    folders,
  }) => {
    const watcher = await start();
    const outside = join(folders.root, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, `${SESSION.sessionId}.jsonl`), '');
    await symlink(outside, join(folders.transcripts, 'link'));
    for (const path of [
      join(folders.transcripts, 'link', `${SESSION.sessionId}.jsonl`),
      `${folders.transcripts}/p1/../../../outside/${SESSION.sessionId}.jsonl`,
    ]) {
      const answer = await watcher.deliver(turnEnded({ ...SESSION, path }));
      expect(await problemOf(answer)).toMatchObject({ status: 422, code: 'transcript_path_outside_roots' });
    }
  });

  test('a sub-agent’s file and a relative path are no chat’s transcript, and the reason is told', async ({
    start,
    folders,
  }) => {
    const watcher = await start();
    for (const [path, reason] of [
      [join(folders.transcripts, 'p1', 'agent-abc.jsonl'), 'sub-agent'],
      [join(folders.transcripts, 'p1', SESSION.sessionId, 'subagents', 'x.jsonl'), 'sub-agent'],
      [`p1/${SESSION.sessionId}.jsonl`, 'not-absolute'],
    ] as const) {
      const answer = await watcher.deliver(turnEnded({ ...SESSION, path }));
      expect({ status: answer.status, body: await answer.json() }).toMatchObject({ status: 422, body: { reason } });
    }
  });

  test('R49: a body over 256 KB, announced or not', async ({ start }) => {
    const watcher = await start();
    const big = { ...event('message.human', SESSION), padding: 'x'.repeat(257 * 1024) };
    expect(await problemOf(await watcher.deliver(big))).toMatchObject({ status: 413, code: 'body_too_large' });
    const status = await postChunked(watcher.url, Buffer.from(JSON.stringify(big)));
    expect(status).toBe(413);
  });

  test('a compressed body', async ({ start }) => {
    const watcher = await start();
    const response = await fetch(`${watcher.url}/v1/events`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      body: gzipSync('{}'),
    });
    expect(await problemOf(response)).toMatchObject({ status: 415, code: 'unsupported_encoding' });
  });

  test('another method, another path', async ({ start }) => {
    const watcher = await start();
    const wrong = await fetch(`${watcher.url}/v1/events`);
    expect(wrong.headers.get('allow')).toBe('POST');
    expect(await problemOf(wrong)).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(await problemOf(await watcher.call('/v1/nothing'))).toMatchObject({ status: 404, code: 'not_found' });
  });

  test('an unknown session is recorded for its order, and unknown fields are ignored', async ({ start }) => {
    const watcher = await start();
    const answer = await watcher.deliver({
      ...event('turn.started', SESSION, { cause: 'human', extra: 1 }),
      more: true,
    });
    expect(answer.status).toBe(202);
    expect(await answer.json()).toMatchObject({ armed: false });
  });
});

describe('without secrets', () => {
  test('on loopback unsigned deliveries are taken, the same body once', async ({ start, folders }) => {
    const watcher = await start({ env: { WEBHOOK_SECRETS: '', ADMIN_TOKEN: '' } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const post = () =>
      fetch(`${watcher.url}/v1/events`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const body = JSON.stringify(turnEnded(chat));
    expect(await (await post()).json()).toMatchObject({ armed: true });
    expect(await (await post()).json()).toMatchObject({ armed: true, duplicate: true });
  });

  test.for([
    ['a Host that is no loopback name', { host: 'evil.example' }, 'host_not_loopback'],
    ['another site’s Origin', { origin: 'https://evil.example' }, 'cross_site'],
    ['another loopback port’s Origin', { origin: 'http://127.0.0.1:1' }, 'cross_site'],
    ['a cross-site fetch', { 'sec-fetch-site': 'cross-site' }, 'cross_site'],
  ] as const)('%s is refused', async ([, headers, code], { start }) => {
    const watcher = await start({ env: { WEBHOOK_SECRETS: '', ADMIN_TOKEN: '' } });
    for (const [method, path] of [
      ['POST', '/v1/events'],
      ['POST', '/v1/pause'],
      ['GET', '/v1/sessions'],
      ['GET', '/admin/queues'],
    ] as const) {
      const answer = await rawRequest(watcher.url, method, path, { 'content-type': 'application/json', ...headers });
      expect({ path, ...answer }).toMatchObject({ path, status: 403, code });
    }
  });
});

/** fetch sets `Host` itself; this does not. */
function rawRequest(url: string, method: string, path: string, headers: Record<string, string>) {
  return new Promise<{ status: number | undefined; code: unknown }>((resolve, reject) => {
    const call = request(`${url}${path}`, { method, headers, agent: false }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text += chunk.toString()));
      response.on('end', () => {
        const body = JSON.parse(text) as Record<string, unknown>;
        resolve({ status: response.statusCode, code: body['code'] });
      });
    });
    call.on('error', reject);
    call.end();
  });
}

/** Sends without a content-length, so that the size is known only while it comes. */
function postChunked(url: string, body: Buffer): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = request(
      `${url}/v1/events`,
      { method: 'POST', agent: false, headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' } },
      (response) => {
        response.resume();
        resolve(response.statusCode);
      },
    );
    call.on('error', reject);
    call.end(body);
  });
}
