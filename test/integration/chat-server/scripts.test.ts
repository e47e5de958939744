import { describe, expect } from '../../support/leaks.ts';
import { call, createChat, happened, hungChat, nudge, NUDGE, test, transcript, type Line } from './world.ts';

/** One word for each entry that a verdict can hang on. */
function shape(lines: Line[]): string[] {
  return lines.flatMap((line) => {
    if (line.type === 'queue-operation') return [`${line.operation}${named(line.content)}`];
    if (line.type === 'user')
      return [typeof line.message?.content === 'string' ? `user${named(line.message.content)}` : 'user(result)'];
    if (line.type === 'attachment')
      return line.attachment?.prompt === undefined ? [] : [`folded${named(line.attachment.prompt)}`];
    return line.type === 'assistant' ? ['assistant'] : [];
  });
}

function named(text: string | undefined): string {
  if (text === undefined) return '';
  const status = /<status>(\w+)<\/status>/.exec(text)?.[1];
  if (status !== undefined) return `(${status})`;
  return text.startsWith('[Paddock recovery]') ? '(nudge)' : '(prompt)';
}

const LAUNCH = ['enqueue(prompt)', 'dequeue', 'user(prompt)', 'assistant', 'assistant', 'user(result)', 'assistant'];
const NUDGED = ['enqueue(nudge)', 'dequeue', 'user(nudge)', 'remove(killed)', 'folded(killed)'];

describe('a scripted transcript has the entries of the real one, in their order', () => {
  test('hang: a kill that nothing answers, then a nudge and its reply', async ({ world }) => {
    const server = await world.start();
    const { sessionId, transcriptPath } = await hungChat(server);
    expect(shape(transcript(transcriptPath))).toEqual([...LAUNCH, 'enqueue(killed)']);
    await nudge(server, sessionId, 'k');
    await happened(server, sessionId, 'turn.ended', ({ cause }) => cause === 'recovery');
    expect(shape(transcript(transcriptPath))).toEqual([...LAUNCH, 'enqueue(killed)', ...NUDGED, 'assistant']);
  });

  test('hang-twice: the nudged turn hangs again, the next one does not', async ({ world }) => {
    const server = await world.start();
    const { sessionId, transcriptPath } = await hungChat(server, 'hang-twice');
    const first = await nudge(server, sessionId, 'k1');
    await happened(server, sessionId, 'turn.ended', ({ turnId }) => turnId === first.body.turnId);
    await expect.poll(() => shape(transcript(transcriptPath)).at(-1)).toBe('enqueue(killed)');
    const second = await nudge(server, sessionId, 'k2');
    await happened(server, sessionId, 'turn.ended', ({ turnId }) => turnId === second.body.turnId);
    expect(shape(transcript(transcriptPath)).at(-1)).toBe('assistant');
  });

  test('healthy: the completed task wakes the chat', async ({ world }) => {
    const server = await world.start();
    const { sessionId, transcriptPath } = await createChat(server, { script: 'healthy' });
    await happened(server, sessionId, 'turn.ended', ({ cause }) => cause === 'wake');
    const lines = transcript(transcriptPath);
    const wake = ['enqueue(completed)', 'dequeue', 'user(completed)', 'assistant'];
    expect(shape(lines)).toEqual([...LAUNCH, ...wake]);
    expect(lines.findLast(({ type }) => type === 'user')?.origin?.kind).toBe('task-notification');
  });

  test('wakes-after-kill: the kill wakes the chat by itself', async ({ world }) => {
    const server = await world.start();
    const { sessionId, transcriptPath } = await createChat(server, { script: 'wakes-after-kill' });
    await happened(server, sessionId, 'turn.ended', ({ cause }) => cause === 'wake');
    const wake = ['enqueue(killed)', 'dequeue', 'user(killed)', 'assistant'];
    expect(shape(transcript(transcriptPath))).toEqual([...LAUNCH, ...wake]);
  });

  test('hang-late: idle for a while before the kill', async ({ world }) => {
    const server = await world.start();
    const { sessionId, transcriptPath } = await createChat(server, { script: 'hang-late' });
    await happened(server, sessionId, 'turn.ended');
    expect(shape(transcript(transcriptPath))).toEqual(LAUNCH);
    await happened(server, sessionId, 'task.killed');
    expect(shape(transcript(transcriptPath))).toEqual([...LAUNCH, 'enqueue(killed)']);
  });

  test('waiting: looks hung on disk, only the session API knows better; an answer goes on', async ({ world }) => {
    const server = await world.start();
    const { sessionId, transcriptPath } = await hungChat(server, 'waiting');
    expect(shape(transcript(transcriptPath))).toEqual([...LAUNCH, 'enqueue(killed)']);
    expect((await call(server, 'GET', `/sessions/${sessionId}`)).body).toMatchObject({ state: 'waiting' });
    const answer = await call(server, 'POST', `/chats/${sessionId}/messages`, { text: 'Yes, do it.' });
    await happened(server, sessionId, 'turn.ended', ({ turnId }) => turnId === answer.body['turnId']);
    expect((await call(server, 'GET', `/sessions/${sessionId}`)).body).toMatchObject({ state: 'idle' });
  });

  test('a kill in mid-turn: its notice stands before the turn’s own reply, which answers nothing', async ({
    world,
  }) => {
    const server = await world.start();
    const { sessionId, transcriptPath } = await createChat(server, { script: 'lasting', timings: { replyMs: 700 } });
    await happened(server, sessionId, 'turn.ended');
    const [task] = server.chats.get(sessionId).tasks;
    await call(server, 'POST', `/chats/${sessionId}/messages`, { text: 'And now?' });
    await call(server, 'POST', `/chats/${sessionId}/tasks/${task?.id}/kill`);
    await expect.poll(() => server.chats.get(sessionId).state).toBe('idle');
    const human = ['enqueue(prompt)', 'dequeue', 'user(prompt)'];
    expect(shape(transcript(transcriptPath))).toEqual([...LAUNCH, ...human, 'enqueue(killed)', 'assistant']);
  });
});

test('every entry is of its session, chained to the one before it, and the nudge stands there word for word', async ({
  world,
}) => {
  const server = await world.start();
  const { sessionId, transcriptPath } = await hungChat(server);
  await nudge(server, sessionId, 'k');
  await happened(server, sessionId, 'turn.ended', ({ cause }) => cause === 'recovery');
  const lines = transcript(transcriptPath);
  expect(new Set(lines.map((line) => line.sessionId))).toEqual(new Set([sessionId]));
  const chain = lines.filter(({ uuid }) => uuid !== undefined);
  expect(chain[0]?.parentUuid).toBeNull();
  chain.slice(1).forEach((entry, index) => expect(entry.parentUuid).toBe(chain[index]?.uuid));
  expect(lines.filter(({ message }) => message?.content === NUDGE.text)).toHaveLength(1);
});
