import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/events.ts';
import { describe, expect } from '../../support/leaks.ts';
import { call, createChat, happened, hungChat, nudge, SECRET, test, type Receiver } from './world.ts';

const types = (receiver: Receiver, sessionId: string): string[] =>
  receiver.received
    .filter(({ event }) => event.data.sessionId === sessionId)
    .map(({ event }) => {
      const { data } = event;
      return 'cause' in data ? `${event.type} ${data.cause}` : event.type;
    });

const nothingPending = (server: { pendingWebhooks(): number }) =>
  eventually(() => server.pendingWebhooks() === 0, { what: 'an empty outbox' });

describe('a hung chat that is nudged', () => {
  test('sends its life in order, signed, each with what the schema asks', async ({ world }) => {
    const receiver = await world.receiver();
    const server = await world.start({ webhook: { url: receiver.url, secret: SECRET } });
    const { sessionId, transcriptPath } = await hungChat(server);
    await nudge(server, sessionId, 'k');
    await happened(server, sessionId, 'turn.ended', ({ cause }) => cause === 'recovery');
    await call(server, 'DELETE', `/chats/${sessionId}?reason=reverted`);
    await nothingPending(server);
    expect(types(receiver, sessionId)).toEqual([
      'message.human',
      'turn.started human',
      'turn.ended human',
      'turn.started recovery',
      'turn.ended recovery',
      'session.closed',
    ]);
    const ended = receiver.received[2]?.event;
    expect(ended?.data).toMatchObject({
      project: 'demo',
      driveMode: 'session',
      outcome: 'completed',
      transcriptPath,
      backgroundTasks: [{ type: 'shell', description: 'Run the long build' }],
    });
    expect(receiver.received.at(-1)?.event.data).toMatchObject({ reason: 'reverted' });
  });

  test('carries stamps of its own clock that rise with every event, and one id each', async ({ world }) => {
    const receiver = await world.receiver();
    const server = await world.start({ webhook: { url: receiver.url, secret: SECRET } });
    await hungChat(server);
    await nothingPending(server);
    const stamps = receiver.received.map(({ event }) => event.timestamp);
    stamps.slice(1).forEach((stamp, index) => expect(stamp).toBeGreaterThan(stamps[index] ?? 0));
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(receiver.received.length);
  });
});

describe('the other events', () => {
  test('a wake is told as such', async ({ world }) => {
    const receiver = await world.receiver();
    const server = await world.start({ webhook: { url: receiver.url, secret: SECRET } });
    const { sessionId } = await createChat(server, { script: 'healthy' });
    await happened(server, sessionId, 'turn.ended', ({ cause }) => cause === 'wake');
    await nothingPending(server);
    expect(types(receiver, sessionId).slice(-2)).toEqual(['turn.started wake', 'turn.ended wake']);
  });

  test('a task that its user stops is told before its notice stands; the runtime’s own kill is not told', async ({
    world,
  }) => {
    const receiver = await world.receiver();
    const server = await world.start({ webhook: { url: receiver.url, secret: SECRET } });
    const kill = async (by: string) => {
      const { sessionId } = await createChat(server, { script: 'lasting' });
      await happened(server, sessionId, 'turn.ended');
      const [task] = server.chats.get(sessionId).tasks;
      const answer = await call(server, 'POST', `/chats/${sessionId}/tasks/${task?.id}/kill?by=${by}`);
      expect(answer.status).toBe(202);
      await nothingPending(server);
      const kinds = server.happenings.past(sessionId).map(({ kind }) => kind);
      return { sessionId, kinds: kinds.filter((kind) => kind.startsWith('task.')) };
    };
    const user = await kill('user');
    expect(user.kinds).toEqual(['task.stopped', 'task.killed']);
    expect(types(receiver, user.sessionId)).toContain('task.stopped');
    const runtime = await kill('runtime');
    expect(runtime.kinds).toEqual(['task.killed']);
    expect(types(receiver, runtime.sessionId)).not.toContain('task.stopped');
    expect((await call(server, 'POST', `/chats/${user.sessionId}/tasks/nothing/kill`)).status).toBe(404);
  });

  test('an interrupted turn ends as interrupted, a queued message runs next', async ({ world }) => {
    const receiver = await world.receiver();
    const server = await world.start({
      webhook: { url: receiver.url, secret: SECRET },
      timings: { replyMs: 60_000 },
    });
    const { sessionId } = await createChat(server, { script: 'plain' });
    await call(server, 'POST', `/chats/${sessionId}/messages`, { text: 'Also this.' });
    await call(server, 'POST', `/chats/${sessionId}/stop`);
    await happened(server, sessionId, 'turn.started', ({ cause }) => cause === 'queue');
    await nothingPending(server);
    expect(types(receiver, sessionId)).toEqual([
      'message.human',
      'turn.started human',
      'message.human',
      'turn.ended human',
      'turn.started queue',
    ]);
    expect(receiver.received[3]?.event.data).toMatchObject({ outcome: 'interrupted' });
  });
});

describe('a receiver that fails', () => {
  test('is tried again with the same id until it takes the event; order holds', async ({ world }) => {
    const receiver = await world.receiver();
    let refusals = 3;
    receiver.answer = () => (refusals-- > 0 ? { status: 503, headers: { 'retry-after': '0' } } : { status: 202 });
    const server = await world.start({ webhook: { url: receiver.url, secret: SECRET } });
    const { sessionId } = await hungChat(server);
    await nothingPending(server);
    expect(receiver.tries.slice(0, 4).map(({ type }) => type)).toEqual(
      Array.from({ length: 4 }, () => 'message.human'),
    );
    expect(new Set(receiver.tries.slice(0, 4).map(({ id }) => id)).size).toBe(1);
    expect(types(receiver, sessionId)).toEqual(['message.human', 'turn.started human', 'turn.ended human']);
  });

  test('that is down gets everything when it is back, in order', async ({ world }) => {
    const down = await world.receiver();
    await down.close();
    const server = await world.start({ webhook: { url: down.url, secret: SECRET } });
    const { sessionId } = await hungChat(server);
    await happened(server, sessionId, 'webhook.failed', ({ error }) => String(error).includes('ECONNREFUSED'));
    const back = await world.receiver(SECRET, down.port);
    await nothingPending(server);
    expect(types(back, sessionId)).toEqual(['message.human', 'turn.started human', 'turn.ended human']);
  });

  test('that is down over a restart of the chat server too', async ({ world }) => {
    const before = await world.start();
    const { sessionId } = await hungChat(before);
    await before.close();
    expect(readdirSync(join(world.dir, 'outbox'))).toHaveLength(3);
    const receiver = await world.receiver();
    const after = await world.start({ webhook: { url: receiver.url, secret: SECRET } });
    await nothingPending(after);
    expect(types(receiver, sessionId)).toEqual(['message.human', 'turn.started human', 'turn.ended human']);
    expect(readdirSync(join(world.dir, 'outbox'))).toEqual([]);
  });

  test('for one session does not hold up another', async ({ world }) => {
    const receiver = await world.receiver();
    const blocked = '00000000-0000-4000-8000-00000000000b';
    receiver.answer = ({ data }) => ({ status: data.sessionId === blocked ? 503 : 202 });
    const server = await world.start({ webhook: { url: receiver.url, secret: SECRET } });
    await createChat(server, { script: 'plain', sessionId: blocked });
    const { sessionId } = await createChat(server, { script: 'plain' });
    await happened(server, sessionId, 'webhook.delivered', ({ type }) => type === 'turn.ended');
    expect(types(receiver, blocked)).toEqual([]);
  });

  test('that refuses an event for good is not asked again about it', async ({ world }) => {
    const receiver = await world.receiver();
    receiver.answer = ({ type }) => ({ status: type === 'message.human' ? 422 : 202 });
    const server = await world.start({ webhook: { url: receiver.url, secret: SECRET } });
    const { sessionId } = await hungChat(server);
    await nothingPending(server);
    expect(receiver.tries.filter(({ type }) => type === 'message.human')).toHaveLength(1);
    expect(types(receiver, sessionId)).toEqual(['turn.started human', 'turn.ended human']);
  });

  test('can be replaced while events wait for it', async ({ world }) => {
    const server = await world.start({ webhook: { url: 'http://127.0.0.1:1/', secret: SECRET } });
    const { sessionId } = await hungChat(server);
    const receiver = await world.receiver();
    server.setWebhook({ url: receiver.url, secret: SECRET });
    await nothingPending(server);
    expect(types(receiver, sessionId)).toHaveLength(3);
  });
});
