import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createHttpDriver } from '#shared/session-api/http-driver.js';
import { describe, expect } from '../../support/leaks.ts';
import {
  call,
  createChat,
  endTurn,
  ENDLESS,
  happened,
  hungChat,
  hungChatOfEndlessTurns,
  nudge,
  NUDGE,
  recoveryTurns,
  test,
  transcript,
} from './world.ts';

const UNKNOWN = '00000000-0000-4000-8000-000000000000';

describe('the state of a session', () => {
  test('goes from running to idle, with project and transcript', async ({ world }) => {
    const server = await world.start({ timings: ENDLESS });
    const chat = await createChat(server, { project: 'blue', script: 'plain' });
    const running = await call(server, 'GET', `/sessions/${chat.sessionId}`);
    expect(running.body).toEqual({
      state: 'running',
      queuedFollowUp: false,
      project: 'blue',
      transcriptPath: chat.transcriptPath,
    });
    await endTurn(server, chat.sessionId);
    expect((await call(server, 'GET', `/sessions/${chat.sessionId}`)).body).toMatchObject({ state: 'idle' });
  });

  test('is read by our own client, the root workspace included', async ({ world }) => {
    const server = await world.start({ timings: ENDLESS });
    const chat = await createChat(server, { project: '', script: 'plain' });
    const driver = createHttpDriver({ url: server.url, timeoutMs: 2_000 });
    expect(await driver.state(chat.sessionId)).toMatchObject({ state: 'running', project: '' });
    expect(await driver.state(UNKNOWN)).toBeUndefined();
    await driver.probe();
    await driver.close();
  });

  test('unknown is 404, deleted 410, ended is closed and takes nothing', async ({ world }) => {
    const server = await world.start();
    expect((await call(server, 'GET', `/sessions/${UNKNOWN}`)).status).toBe(404);
    const deleted = await hungChat(server);
    await call(server, 'DELETE', `/chats/${deleted.sessionId}`);
    expect((await call(server, 'GET', `/sessions/${deleted.sessionId}`)).status).toBe(410);
    const ended = await hungChat(server);
    await call(server, 'DELETE', `/chats/${ended.sessionId}?reason=ended`);
    expect((await call(server, 'GET', `/sessions/${ended.sessionId}`)).body).toMatchObject({ state: 'closed' });
    expect((await nudge(server, ended.sessionId, 'k')).status).toBe(410);
    expect((await nudge(server, UNKNOWN, 'k')).status).toBe(404);
  });
});

describe('a message', () => {
  test('starts one turn; the same key again has the same answer and starts none', async ({ world }) => {
    const { server, sessionId } = await hungChatOfEndlessTurns(world);
    const first = await nudge(server, sessionId, 'k1');
    expect(first).toMatchObject({ status: 202, body: { turnId: expect.any(String) } });
    // Looked up before any busy check: the turn that the key itself started is running now.
    expect((await call(server, 'GET', `/sessions/${sessionId}`)).body).toMatchObject({ state: 'running' });
    expect(await nudge(server, sessionId, 'k1')).toMatchObject({ status: 202, body: first.body });
    await endTurn(server, sessionId);
    expect(await nudge(server, sessionId, 'k1')).toMatchObject({ status: 202, body: first.body });
    expect(recoveryTurns(server, sessionId)).toBe(1);
  });

  test('the same key in another session is another message', async ({ world }) => {
    const server = await world.start();
    const [one, two] = [await hungChat(server), await hungChat(server)];
    const first = await nudge(server, one.sessionId, 'k');
    const second = await nudge(server, two.sessionId, 'k');
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(second.body.turnId).not.toBe(first.body.turnId);
  });

  test('a 409 is not remembered: the same key is accepted once the chat is free', async ({ world }) => {
    const server = await world.start({ timings: ENDLESS });
    const { sessionId } = await createChat(server, { script: 'plain' });
    expect(await nudge(server, sessionId, 'k')).toMatchObject({ status: 409, body: { code: 'turn_running' } });
    await endTurn(server, sessionId);
    expect(await nudge(server, sessionId, 'k')).toMatchObject({ status: 202 });
  });

  test('a chat that waits for its user, and one with a queued follow-up, refuse by name', async ({ world }) => {
    const server = await world.start();
    const waiting = await hungChat(server, 'waiting');
    expect(await nudge(server, waiting.sessionId, 'k')).toMatchObject({ status: 409, body: { code: 'waiting' } });
    const queued = await hungChat(server);
    await call(server, 'POST', `/chats/${queued.sessionId}/queue`, { text: 'and then this', hold: true });
    expect(await nudge(server, queued.sessionId, 'k')).toMatchObject({
      status: 409,
      body: { code: 'queued_follow_up' },
    });
    expect((await call(server, 'GET', `/sessions/${queued.sessionId}`)).body).toMatchObject({ queuedFollowUp: true });
    await call(server, 'DELETE', `/chats/${queued.sessionId}/queue`);
    expect((await nudge(server, queued.sessionId, 'k')).status).toBe(202);
  });

  test('of many with different keys at the same moment one starts a turn', async ({ world }) => {
    const { server, sessionId } = await hungChatOfEndlessTurns(world);
    const answers = await Promise.all(Array.from({ length: 10 }, (_, n) => nudge(server, sessionId, `k${n}`)));
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(9);
    expect(recoveryTurns(server, sessionId)).toBe(1);
  });

  test('of many with one key at the same moment all have the one answer', async ({ world }) => {
    const { server, sessionId } = await hungChatOfEndlessTurns(world);
    const answers = await Promise.all(Array.from({ length: 10 }, () => nudge(server, sessionId, 'k')));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.turnId}`)).size).toBe(1);
    expect(recoveryTurns(server, sessionId)).toBe(1);
  });

  test('a person who writes at the same moment wins or loses, but there is one turn', async ({ world }) => {
    const { server, sessionId } = await hungChatOfEndlessTurns(world);
    const [recovery] = await Promise.all([
      nudge(server, sessionId, 'k'),
      call(server, 'POST', `/chats/${sessionId}/messages`, { text: 'What happened?' }),
    ]);
    expect([202, 409]).toContain(recovery.status);
    const starts = server.happenings.past(sessionId).filter(({ kind }) => kind === 'turn.started');
    expect(starts).toHaveLength(1);
  });

  test.for([
    ['no key', undefined, NUDGE, 'Idempotency-Key'],
    ['a key with a blank', 'a b', NUDGE, 'Idempotency-Key'],
    ['no text', 'k', { ...NUDGE, text: '' }, 'body.text'],
    ['another sender', 'k', { ...NUDGE, sender: { kind: 'human', label: 'x' } }, 'body.sender.kind'],
    ['no onlyIfIdle', 'k', { ...NUDGE, onlyIfIdle: false }, 'body.onlyIfIdle'],
    ['a broken body', 'k', '{', undefined],
  ] as const)('with %s is 400 and names the field', async ([, key, body, field], { world }) => {
    const server = await world.start();
    const { sessionId } = await hungChat(server);
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
    const answer = await call<{ field?: string }>(server, 'POST', `/sessions/${sessionId}/messages`, body, headers);
    expect(answer.status).toBe(400);
    expect(answer.headers.get('content-type')).toContain('application/problem+json');
    expect(answer.body.field).toBe(field);
  });

  test('a session id that is no id is 400, a path in it never reaches a file', async ({ world }) => {
    const server = await world.start();
    expect((await nudge(server, encodeURIComponent('../../etc/passwd'), 'k')).status).toBe(400);
    expect((await call(server, 'GET', '/sessions/abc')).status).toBe(400);
  });
});

/** What a crash leaves that came between the promise and the turn. */
function promise(dir: string, sessionId: string, atMs = Date.now()): void {
  const entry = { sessionId, key: 'k9', turnId: 'promised', text: NUDGE.text, atMs, begun: false };
  appendFileSync(join(dir, 'idempotency.jsonl'), `${JSON.stringify(entry)}\n{"torn`);
}

describe('after a restart', () => {
  test('a key is remembered, a chat goes on where it was', async ({ world }) => {
    const before = await world.start();
    const { sessionId, transcriptPath } = await hungChat(before);
    const first = await nudge(before, sessionId, 'k1');
    await happened(before, sessionId, 'turn.ended', ({ cause }) => cause === 'recovery');
    await before.close();
    const after = await world.start();
    expect((await call(after, 'GET', `/sessions/${sessionId}`)).body).toMatchObject({ state: 'idle' });
    expect(await nudge(after, sessionId, 'k1')).toMatchObject({ status: 202, body: first.body });
    expect(recoveryTurns(after, sessionId)).toBe(0);
    expect((await nudge(after, sessionId, 'k2')).status).toBe(202);
    await happened(after, sessionId, 'turn.ended', ({ cause }) => cause === 'recovery');
    const linked = transcript(transcriptPath).filter(({ uuid }) => uuid !== undefined);
    linked.slice(1).forEach((entry, index) => expect(entry.parentUuid).toBe(linked[index]?.uuid));
  });

  test('a turn that was promised and cut before it began is told as begun and ended, never as failed', async ({
    world,
  }) => {
    const before = await world.start();
    const { sessionId } = await hungChat(before);
    await before.close();
    promise(world.dir, sessionId);
    const file = join(world.dir, 'chats', `${sessionId}.json`);
    const record = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...record, turns: [{ turnId: 'promised', cause: 'recovery' }] }));
    const after = await world.start();
    await happened(after, sessionId, 'turn.ended');
    const told = after.happenings.past(sessionId).filter(({ kind }) => kind.startsWith('turn.'));
    expect(told.map(({ kind, fields }) => [kind, fields['outcome']])).toEqual([
      ['turn.started', undefined],
      ['turn.ended', 'completed'],
    ]);
  });

  test('a message that was promised and never begun is begun, once', async ({ world }) => {
    const before = await world.start();
    const { sessionId } = await hungChat(before);
    await before.close();
    promise(world.dir, sessionId);
    const after = await world.start();
    await happened(after, sessionId, 'turn.ended', ({ turnId }) => turnId === 'promised');
    expect(await nudge(after, sessionId, 'k9')).toMatchObject({ status: 202, body: { turnId: 'promised' } });
    await after.close();
    const again = await world.start();
    expect(recoveryTurns(again, sessionId)).toBe(0);
  });

  test('a message that the runtime already had is not begun again', async ({ world }) => {
    const before = await world.start();
    const { sessionId } = await hungChat(before);
    const promisedMs = Date.now();
    await nudge(before, sessionId, 'other');
    await happened(before, sessionId, 'turn.ended', ({ cause }) => cause === 'recovery');
    await before.close();
    promise(world.dir, sessionId, promisedMs);
    const after = await world.start();
    expect(recoveryTurns(after, sessionId)).toBe(0);
    expect(await nudge(after, sessionId, 'k9')).toMatchObject({ status: 202, body: { turnId: 'promised' } });
  });
});

test('a chat is not made twice under one id', async ({ world }) => {
  const server = await world.start();
  const { sessionId } = await createChat(server, { script: 'plain' });
  expect((await call(server, 'POST', '/chats', { script: 'plain', sessionId })).status).toBe(409);
});

describe('the transcript', () => {
  test('whole and by range', async ({ world }) => {
    const server = await world.start();
    const { sessionId, transcriptPath } = await hungChat(server);
    const { size } = statSync(transcriptPath);
    const whole = readFileSync(transcriptPath, 'utf8');
    const get = (range?: string) =>
      call<string>(server, 'GET', `/sessions/${sessionId}/transcript`, undefined, range === undefined ? {} : { range });
    expect(await get()).toMatchObject({ status: 200, body: whole });
    const tail = await get('bytes=-100');
    expect(tail).toMatchObject({ status: 206, body: whole.slice(-100) });
    expect(tail.headers.get('content-range')).toBe(`bytes ${size - 100}-${size - 1}/${size}`);
    expect(await get('bytes=0-9')).toMatchObject({ status: 206, body: whole.slice(0, 10) });
    expect(await get(`bytes=${size - 5}-`)).toMatchObject({ status: 206, body: whole.slice(-5) });
    expect(await get(`bytes=0-${size * 2}`)).toMatchObject({ status: 206, body: whole });
    expect(await get('lines=1-2')).toMatchObject({ status: 200, body: whole });
    const beyond = await get(`bytes=${size}-`);
    expect(beyond.status).toBe(416);
    expect(beyond.headers.get('content-range')).toBe(`bytes */${size}`);
  });
});

describe('the token', () => {
  test('is asked for everywhere but for health', async ({ world }) => {
    const server = await world.start({ token: 'geheim' });
    expect((await call(server, 'GET', '/healthz')).status).toBe(200);
    expect((await call(server, 'GET', '/chats')).status).toBe(401);
    expect((await nudge(server, UNKNOWN, 'k')).status).toBe(401);
    const authorized = { authorization: 'Bearer geheim' };
    expect((await call(server, 'GET', '/chats', undefined, authorized)).status).toBe(200);
  });

  test('without one no other address than loopback is listened on', async ({ world }) => {
    await expect(world.start({ host: '0.0.0.0' })).rejects.toThrow(/SESSION_API_TOKEN/);
  });
});
