import type { Happening } from '../../../examples/chat-server/happenings.ts';
import { expect } from '../../support/leaks.ts';
import { call, createChat, endTurn, ENDLESS, happened, hungChat, nudge, test } from './world.ts';

/** Reads a chat's live events until one of a kind comes. */
async function eventsUntil(url: string, kind: string): Promise<Happening[]> {
  const aborter = new AbortController();
  const response = await fetch(url, { signal: aborter.signal });
  const seen: Happening[] = [];
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString('utf8');
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) seen.push(JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? '') as Happening);
    if (seen.some((happening) => happening.kind === kind)) break;
  }
  aborter.abort();
  return seen;
}

test('live events tell what has happened and what happens, of this chat only', async ({ world }) => {
  const server = await world.start();
  const chat = await hungChat(server);
  await hungChat(server);
  const events = eventsUntil(`${server.url}/chats/${chat.sessionId}/events`, 'nudge.accepted');
  await nudge(server, chat.sessionId, 'k');
  const seen = await events;
  expect(new Set(seen.map(({ sessionId }) => sessionId))).toEqual(new Set([chat.sessionId]));
  const kinds = seen.map(({ kind }) => kind);
  expect(kinds[0]).toBe('chat.created');
  expect(kinds).toEqual(expect.arrayContaining(['message.human', 'turn.started', 'turn.ended', 'task.killed']));
});

test.for([
  [{ script: 'nothing' }, 'body.script'],
  [{ timings: { sleepMs: 5 } }, 'body.timings'],
  [{ timings: { replyMs: -1 } }, 'body.timings.replyMs'],
  [{ project: '../up' }, 'body.project'],
  [{ sessionId: 'abc' }, 'body.sessionId'],
  [{ prompt: '' }, 'body.prompt'],
] as const)('a chat with %o is refused by the field’s name', async ([body, field], { world }) => {
  const server = await world.start();
  expect(await call(server, 'POST', '/chats', body)).toMatchObject({ status: 400, body: { field } });
});

test('what is not there is 404, in words that a program can read', async ({ world }) => {
  const server = await world.start();
  expect(await call(server, 'GET', '/nothing')).toMatchObject({ status: 404, body: { code: 'no_such_route' } });
});

test('a queued message waits for the turn, and runs after it with its own cause', async ({ world }) => {
  const server = await world.start({ timings: ENDLESS });
  const { sessionId } = await createChat(server, { script: 'plain' });
  await call(server, 'POST', `/chats/${sessionId}/queue`, { text: 'Then this.' });
  expect((await call(server, 'GET', `/sessions/${sessionId}`)).body).toMatchObject({ queuedFollowUp: true });
  await endTurn(server, sessionId);
  await happened(server, sessionId, 'turn.started', ({ cause }) => cause === 'queue');
  expect((await call(server, 'GET', `/sessions/${sessionId}`)).body).toMatchObject({
    queuedFollowUp: false,
    state: 'running',
  });
});
