import type { IncomingMessage, ServerResponse } from 'node:http';
import { loadSettings } from '#shared/settings/environment.js';
import { listen } from '#shared/platform/http-server.js';
import { buildWorker } from '../../../services/recovery-worker/build.ts';
import { test as watcherTest } from './harness.ts';

export type Handler = (req: IncomingMessage, res: ServerResponse) => void;

/** A session API of the test's own. */
export interface SessionApi {
  url: string;
  /** Answers each request; idle and willing until a test says otherwise. */
  handle: Handler;
  /** Every message that arrived: its key, and when (epoch milliseconds). */
  messages: { key: string; session: string; atMs: number }[];
}

/** A test with a real worker beside the watcher, and a session API that both reach over HTTP. */
export const test = watcherTest.extend<{ api: SessionApi; worker: undefined }>({
  api: async ({ redis: _redis }, use) => {
    const api: SessionApi = { url: '', handle: idle, messages: [] };
    const server = await listen(
      (req, res) => {
        if (req.method === 'POST') api.messages.push(received(req));
        req.resume();
        api.handle(req, res);
      },
      { host: '127.0.0.1', port: 0, name: 'The session API', graceMs: 10 },
    );
    api.url = server.url;
    await use(api);
    await server.close();
  },
  worker: async ({ redis, api, folders }, use) => {
    const { settings } = loadSettings({
      HOME: folders.root,
      REDIS_URL: redis.url,
      REDIS_HASH_TAG: redis.tag,
      TRANSCRIPT_ROOTS: folders.transcripts,
      SESSION_API_URL: api.url,
      LOG_LEVEL: 'silent',
      RECOVERY_SETTLE_MS: '0',
      SESSION_API_TIMEOUT_MS: '2000',
    });
    const worker = buildWorker(settings);
    await worker.ready();
    await use(undefined);
    await worker.close();
  },
});

function received(req: IncomingMessage): SessionApi['messages'][number] {
  const session = (req.url ?? '').split('/')[2] ?? '';
  return { key: String(req.headers['idempotency-key']), session, atMs: Date.now() };
}

export function answer(res: ServerResponse, status: number, body: unknown): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

export function idle(req: IncomingMessage, res: ServerResponse): void {
  if (req.method === 'POST') return answer(res, 202, { turnId: 'turn-7' });
  return answer(res, 200, { state: 'idle', queuedFollowUp: false, project: 'p1', transcriptPath: '/x.jsonl' });
}
