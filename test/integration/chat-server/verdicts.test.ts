import type { Judgement } from '#shared/transcript/finding.js';
import { judge } from '#shared/transcript/signature.js';
import { localFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import { describe, expect } from '../../support/leaks.ts';
import { call, createChat, endTurn, happened, hungChat, hungChatOfEndlessTurns, nudge, test } from './world.ts';

const DEBOUNCE_MS = 5_000;
const GRACE_MS = 30_000;

/** The verdict on a transcript whose newest notification has stood for `standsMs`. */
async function verdict(chat: { sessionId: string; transcriptPath: string }, standsMs: number): Promise<Judgement> {
  const read = await readFinding(localFiles, chat.transcriptPath, {
    sessionId: chat.sessionId,
    answeredTaskIds: new Set(),
    senderLabels: [],
    scanLimitBytes: 64 * 1024 * 1024,
  });
  if (read.kind !== 'read') throw new Error(`the transcript was not read: ${read.kind}`);
  expect(read.skippedLines).toBe(0);
  const nowMs = Date.now();
  const seenMs = nowMs - standsMs;
  return judge(read.finding, {
    nowMs,
    noticeSeenMs: seenMs,
    wakeSeenMs: seenMs,
    debounceMs: DEBOUNCE_MS,
    wakeGraceMs: GRACE_MS,
  });
}

describe('the detector on what the scripted runtime writes', () => {
  test('hang: busy within the debounce, then hung; after the nudge’s reply not', async ({ world }) => {
    const server = await world.start();
    const chat = await hungChat(server);
    expect(await verdict(chat, DEBOUNCE_MS - 1_000)).toMatchObject({ verdict: 'busy-or-waiting', reason: 'debounce' });
    const hung = await verdict(chat, DEBOUNCE_MS);
    expect(hung).toMatchObject({ verdict: 'hung', reason: 'killed-unanswered', tasks: [{ status: 'killed' }] });
    await nudge(server, chat.sessionId, 'k');
    await happened(server, chat.sessionId, 'turn.ended', ({ cause }) => cause === 'recovery');
    expect(await verdict(chat, DEBOUNCE_MS)).toMatchObject({ verdict: 'not-hung', reason: 'answered' });
  });

  test('a nudge without its reply yet: busy, and stood down once its user interrupts it', async ({ world }) => {
    const { server, ...chat } = await hungChatOfEndlessTurns(world);
    await nudge(server, chat.sessionId, 'k');
    expect(await verdict(chat, DEBOUNCE_MS)).toMatchObject({ verdict: 'busy-or-waiting', reason: 'nudge-pending' });
    await endTurn(server, chat.sessionId);
    expect(await verdict(chat, DEBOUNCE_MS)).toMatchObject({ verdict: 'not-hung', reason: 'nudge-interrupted' });
  });

  test('hang-twice: hung again with another notice', async ({ world }) => {
    const server = await world.start();
    const chat = await hungChat(server, 'hang-twice');
    const first = await verdict(chat, DEBOUNCE_MS);
    await nudge(server, chat.sessionId, 'k');
    await expect.poll(async () => (await verdict(chat, DEBOUNCE_MS)).verdict).toBe('hung');
    expect((await verdict(chat, DEBOUNCE_MS)).noticeId).not.toBe(first.noticeId);
  });

  test.for([
    ['healthy', 'wake'],
    ['wakes-after-kill', 'wake'],
    ['plain', 'human'],
    ['lasting', 'human'],
  ] as const)('%s: not hung once its last turn has ended', async ([script, cause], { world }) => {
    const server = await world.start();
    const chat = await createChat(server, { script });
    await happened(server, chat.sessionId, 'turn.ended', (fields) => fields['cause'] === cause);
    expect(await verdict(chat, 60_000)).toMatchObject({ verdict: 'not-hung' });
  });

  test('a completed task whose wake is under way: never hung', async ({ world }) => {
    const server = await world.start({ timings: { replyMs: 200, completeMs: 20, wakeMs: 5 } });
    const chat = await createChat(server, { script: 'healthy' });
    await happened(server, chat.sessionId, 'turn.started', ({ cause }) => cause === 'wake');
    expect((await verdict(chat, 1_000)).verdict).not.toBe('hung');
  });

  test('waiting: hung by its transcript; that it waits only the session API knows', async ({ world }) => {
    const server = await world.start();
    const chat = await hungChat(server, 'waiting');
    expect(await verdict(chat, DEBOUNCE_MS)).toMatchObject({ verdict: 'hung' });
  });

  test('a kill in mid-turn: the turn’s own reply answers nothing', async ({ world }) => {
    const server = await world.start({ timings: { replyMs: 700 } });
    const chat = await createChat(server, { script: 'lasting' });
    await happened(server, chat.sessionId, 'turn.ended');
    const [task] = server.chats.get(chat.sessionId).tasks;
    await call(server, 'POST', `/chats/${chat.sessionId}/messages`, { text: 'And now?' });
    await call(server, 'POST', `/chats/${chat.sessionId}/tasks/${task?.id}/kill`);
    await expect.poll(() => server.chats.get(chat.sessionId).state).toBe('idle');
    expect(await verdict(chat, DEBOUNCE_MS)).toMatchObject({ verdict: 'hung' });
  });

  test('a turn that its user interrupted after the kill: not hung', async ({ world }) => {
    const { server, ...chat } = await hungChatOfEndlessTurns(world);
    await call(server, 'POST', `/chats/${chat.sessionId}/messages`, { text: 'Wait.' });
    await endTurn(server, chat.sessionId);
    expect(await verdict(chat, DEBOUNCE_MS)).toMatchObject({ verdict: 'not-hung', reason: 'user-interrupted' });
  });

  test('a host that shuts down leaves a chat with background work hung, and idle when it is back', async ({
    world,
  }) => {
    const before = await world.start();
    const chat = await createChat(before, { script: 'lasting' });
    await happened(before, chat.sessionId, 'turn.ended');
    await before.close();
    expect(await verdict(chat, DEBOUNCE_MS)).toMatchObject({ verdict: 'hung' });
    const after = await world.start();
    expect(after.chats.get(chat.sessionId).state).toBe('idle');
    await nudge(after, chat.sessionId, 'k');
    await happened(after, chat.sessionId, 'turn.ended', ({ cause }) => cause === 'recovery');
    expect(await verdict(chat, DEBOUNCE_MS)).toMatchObject({ verdict: 'not-hung', reason: 'answered' });
  });
});
