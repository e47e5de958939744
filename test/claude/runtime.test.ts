import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from '../support/leaks.ts';
import { happened, NUDGE, test, verdict } from './support.ts';

const verdictOf = (chat: Parameters<typeof verdict>[0]) =>
  expect.poll(() => verdict(chat), { timeout: 20_000, interval: 200 });

describe('real Claude Code, held open by the example chat server', () => {
  test('hangs when its background shell is stopped; a nudge into the live session brings a reply', async ({
    claude,
  }) => {
    const { server } = claude;
    const chat = await server.chats.create({ project: 'demo', prompt: 'BG::sleep 600' });
    await happened(server, chat, 'turn.ended');
    expect(chat.tasks).toHaveLength(1);
    expect(await chat.kill(chat.tasks[0]?.id ?? '', 'runtime')).toBe(true);
    await verdictOf(chat).toMatchObject({
      verdict: 'hung',
      reason: 'killed-unanswered',
      tasks: [{ status: 'killed' }],
    });
    expect(chat.state).toBe('idle');
    const calls = claude.api.calls.length;

    const { turnId } = await server.chats.deliver(chat.id, 'k1', NUDGE);
    await happened(server, chat, 'turn.ended', (fields) => fields['turnId'] === turnId);
    await verdictOf(chat).toMatchObject({ verdict: 'not-hung', reason: 'answered' });

    // Kill, nudge and reply stand in this order; the model saw both texts in one request.
    const text = readFileSync(chat.record.transcriptPath, 'utf8');
    const places = ['<status>killed</status>', NUDGE.text, 'The background task reported: killed.'];
    const found = places.map((place) => text.indexOf(place));
    expect(found).toEqual(found.toSorted((a, b) => a - b));
    expect(Math.min(...found)).toBeGreaterThan(0);
    expect(claude.api.calls).toHaveLength(calls + 1);
    expect(claude.api.calls.at(-1)?.prompt.full).toContain(NUDGE.text);
  });

  test('wakes by itself when its background task completes: the turn is told as a wake', async ({ claude }) => {
    const { server } = claude;
    const chat = await server.chats.create({ project: 'demo', prompt: 'BG::sleep 1; echo built' });
    const ended = await happened(server, chat, 'turn.ended', ({ cause }) => cause === 'wake');
    expect(ended.fields).toMatchObject({ outcome: 'completed', backgroundTasks: [] });
    await verdictOf(chat).toMatchObject({ verdict: 'not-hung' });
    expect(chat.state).toBe('idle');
  });

  test('a person’s prompt is marked as such, an interrupted turn is told as such', async ({ claude }) => {
    const { server, api } = claude;
    const chat = await server.chats.create({ project: 'demo', prompt: 'BG::sleep 600' });
    await happened(server, chat, 'turn.ended');
    await chat.kill(chat.tasks[0]?.id ?? '', 'user');
    await happened(server, chat, 'task.killed');
    api.rules.push({ match: /take your time/, delayMs: 60_000 });
    await chat.say('take your time');
    // At once, before the process has taken the message up.
    await chat.interrupt();
    await happened(server, chat, 'turn.ended', ({ outcome }) => outcome === 'interrupted');
    await verdictOf(chat).toMatchObject({ verdict: 'not-hung', reason: 'user-interrupted' });
    expect(readFileSync(chat.record.transcriptPath, 'utf8')).toMatch(/"kind":"human"/);
  });

  test('refuses a nudge while a turn runs, and takes it afterwards', async ({ claude }) => {
    const { server, api } = claude;
    api.rules.push({ match: /be slow/, delayMs: 1_500 });
    const chat = await server.chats.create({ project: 'demo', prompt: 'be slow' });
    await expect(server.chats.deliver(chat.id, 'k1', NUDGE)).rejects.toMatchObject({
      fields: { status: 409, code: 'turn_running' },
    });
    await happened(server, chat, 'turn.ended');
    await server.chats.deliver(chat.id, 'k1', NUDGE);
    await happened(server, chat, 'turn.ended', ({ cause }) => cause === 'recovery');
  });

  test('goes on in a new process after a restart of the chat server; lost tasks are no turns', async ({ claude }) => {
    const chat = await claude.server.chats.create({ project: 'demo', prompt: 'BG::sleep 600' });
    await happened(claude.server, chat, 'turn.ended');
    const after = await claude.restart();
    const again = after.chats.get(chat.id);
    expect(again.state).toBe('idle');
    const { turnId } = await after.chats.deliver(chat.id, 'k1', NUDGE);
    const ended = await happened(after, again, 'turn.ended');
    expect(ended.fields).toMatchObject({ turnId, cause: 'recovery', outcome: 'completed' });
    await verdictOf(again).toMatchObject({ verdict: 'not-hung' });
    const starts = after.happenings.past(chat.id).filter(({ kind }) => kind === 'turn.started');
    expect(starts).toHaveLength(1);
  });
});

describe('a chat that asks its user', () => {
  test('waits: a nudge is refused until the person has answered, and the answer goes on with the turn', async ({
    claude,
  }) => {
    const server = await claude.restart({ permissionMode: 'default' });
    const chat = await server.chats.create({ project: 'demo', prompt: 'BG::touch made-by-the-chat' });
    await expect.poll(() => chat.state, { timeout: 20_000 }).toBe('waiting');
    await expect(server.chats.deliver(chat.id, 'k1', NUDGE)).rejects.toMatchObject({
      fields: { status: 409, code: 'waiting' },
    });
    await chat.say('yes');
    await happened(server, chat, 'turn.ended');
    await expect.poll(() => existsSync(join(chat.record.cwd, 'made-by-the-chat')), { timeout: 10_000 }).toBe(true);
  });
});

test('a Claude Code process that dies is told as crashed, and its session takes nothing more', async ({ claude }) => {
  const { server } = claude;
  const chat = await server.chats.create({ project: 'demo', prompt: 'BG::sleep 5' });
  await happened(server, chat, 'turn.ended');
  // The shell of the task outlives a SIGKILL of its parent, so it is a short one.
  for (const pid of claudeProcesses(chat.id)) process.kill(pid, 'SIGKILL');
  const closed = await happened(server, chat, 'session.closed');
  expect(closed.fields).toMatchObject({ reason: 'crashed' });
  await expect(server.chats.deliver(chat.id, 'k1', NUDGE)).rejects.toMatchObject({ fields: { status: 410 } });
});

/** Processes that were started for a session, by its id on their command line. */
function claudeProcesses(sessionId: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => commandLine(pid).includes(sessionId))
    .map(Number);
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return ''; // gone meanwhile
  }
}
