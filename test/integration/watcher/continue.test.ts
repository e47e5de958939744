import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buildWorker } from '../../../services/recovery-worker/build.ts';
import { loadSettings } from '#shared/settings/environment.js';
import { listen } from '#shared/platform/http-server.js';
import { Chat } from './chat.ts';
import { describe, expect, sessionWhen, test as watcherTest, turnEnded, type RunningWatcher } from './harness.ts';

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

/** A session API of the test's own, and a real worker beside the watcher. */
const test = watcherTest.extend<{
  api: { url: string; handle: Handler; messages: string[] };
  worker: { settings: Record<string, string> };
}>({
  api: async ({ redis: _redis }, use) => {
    const api = { url: '', handle: idle, messages: [] as string[] };
    const server = createServer((req, res) => {
      if (req.method === 'POST') api.messages.push(String(req.headers['idempotency-key']));
      req.resume();
      api.handle(req, res);
    });
    const listening = await listen(server.listeners('request')[0] as Handler, {
      host: '127.0.0.1',
      port: 0,
      name: 'The session API',
      graceMs: 10,
    });
    api.url = listening.url;
    await use(api);
    await listening.close();
  },
  worker: async ({ redis, api, folders }, use) => {
    const settings = {
      HOME: folders.root,
      REDIS_URL: redis.url,
      REDIS_HASH_TAG: redis.tag,
      TRANSCRIPT_ROOTS: folders.transcripts,
      SESSION_API_URL: api.url,
      LOG_LEVEL: 'silent',
      RECOVERY_SETTLE_MS: '0',
      SESSION_API_TIMEOUT_MS: '2000',
    };
    const worker = buildWorker(loadSettings(settings).settings);
    await worker.ready();
    await use({ settings });
    await worker.close();
  },
});

function answer(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
function idle(req: IncomingMessage, res: ServerResponse): void {
  if (req.method === 'POST') return answer(res, 202, { turnId: 'turn-7' });
  return answer(res, 200, { state: 'idle', queuedFollowUp: false, project: 'p1', transcriptPath: '/x.jsonl' });
}

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
    expect(new Set(api.messages).size).toBe(1);
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
