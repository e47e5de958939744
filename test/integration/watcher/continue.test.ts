import { Chat } from './chat.ts';
import { describe, expect, sessionWhen, turnEnded, type RunningWatcher } from './harness.ts';
import { answer, idle, test } from './worker-fixture.ts';

async function killedChat(watcher: RunningWatcher, chat: Chat): Promise<void> {
  await chat.begin();
  await watcher.background.caughtUp;
  await watcher.deliver(turnEnded(chat));
  await chat.kill();
  await sessionWhen(watcher, chat, (body) => body.state === 'killed');
}

const press = async (watcher: RunningWatcher, chat: Chat) => {
  const response = await watcher.call(`/v1/sessions/${chat.sessionId}/continue`, { method: 'POST' });
  return { status: response.status, ...((await response.json()) as Record<string, unknown>) };
};

describe('continue with a worker', () => {
  test('a hung chat is nudged once and the answer says so; two clicks are one nudge', async ({
    start,
    folders,
    api,
    worker: _worker,
  }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await killedChat(watcher, chat);

    const answers = await Promise.all([press(watcher, chat), press(watcher, chat)]);

    expect(answers).toContainEqual(expect.objectContaining({ status: 200, outcome: 'nudged', turnId: 'turn-7' }));
    expect(new Set(api.messages.map(({ key }) => key)).size).toBe(1);
    const session = await sessionWhen(watcher, chat, (body) => body.state === 'nudged');
    expect(session.counters).toMatchObject({ tries: 0, manuals: 1 });

    await chat.nudgeAndReply();
    const recovered = await sessionWhen(watcher, chat, (body) => body.state === 'recovered');
    expect(recovered.trail.at(-1)?.kind).toBe('recovered');
  });

  test('a chat that is busy by the session API is 409, and the next click asks again', async ({
    start,
    folders,
    api,
    worker: _worker,
  }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await killedChat(watcher, chat);
    api.handle = (_req, res) => answer(res, 200, { state: 'running', queuedFollowUp: false, project: 'p1' });
    expect(await press(watcher, chat)).toMatchObject({ status: 409, code: 'busy', reason: 'turn-running' });
    api.handle = idle;
    expect(await press(watcher, chat)).toMatchObject({ status: 200, outcome: 'nudged' });
  });

  test('a chat without a kill is 409 not_hung', async ({ start, folders, worker: _worker }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    expect(await press(watcher, chat)).toMatchObject({ status: 409, code: 'not_hung' });
  });

  test('it is allowed while recovery is paused', async ({ start, folders, worker: _worker }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await killedChat(watcher, chat);
    await watcher.call('/v1/pause', { method: 'POST' });
    expect(await press(watcher, chat)).toMatchObject({ status: 200 });
  });

  test('a session API that fails is 502, one that stays silent is 504, both by name', async ({
    start,
    folders,
    api,
    worker: _worker,
  }) => {
    const watcher = await start({ tuning: { continueTimeoutMs: 700 } });
    const chat = new Chat(folders.transcripts);
    await killedChat(watcher, chat);
    api.handle = (_req, res) => answer(res, 500, {});
    expect(await press(watcher, chat)).toMatchObject({ status: 502, part: 'session-api' });
    api.handle = () => undefined;
    expect(await press(watcher, chat)).toMatchObject({ status: 504, part: 'session-api' });
  });
});
