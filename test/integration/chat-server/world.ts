import { createServer } from 'node:http';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import {
  startExampleChatServer,
  type ExampleChatServer,
  type ExampleChatServerOptions,
} from '../../../examples/chat-server/start.ts';
import type { Happening } from '../../../examples/chat-server/happenings.ts';
import { lifecycleEventSchema, type LifecycleEvent } from '#shared/session/events.js';
import { test as base } from '../../support/leaks.ts';

/** Fast enough for tests, slow enough to act between the steps. */
export const QUICK = { replyMs: 30, killMs: 30, lateKillMs: 200, completeMs: 30, wakeMs: 5 };

/** What the receiver took, checked by an independent implementation of the signature. */
export interface Received {
  id: string;
  event: LifecycleEvent;
}

export interface Receiver {
  url: string;
  port: number;
  received: Received[];
  /** Every request, also those that were answered with an error. */
  tries: { id: string; type: string }[];
  /** What the next requests are answered with; 202 unless a test says otherwise. */
  answer: (event: { type: string; data: { sessionId: string } }) => {
    status: number;
    headers?: Record<string, string>;
  };
  close(): Promise<void>;
}

export const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes ...').toString('base64')}`;

/** A real receiver of webhooks. */
export async function startReceiver(secret = SECRET, port = 0): Promise<Receiver> {
  const webhook = new Webhook(secret);
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString('utf8')));
    request.on('end', () => {
      const body: unknown = webhook.verify(text, request.headers as Record<string, string>);
      const event = lifecycleEventSchema.parse(body);
      const id = String(request.headers['webhook-id']);
      receiver.tries.push({ id, type: event.type });
      const { status, headers } = receiver.answer(event);
      if (status < 300) receiver.received.push({ id, event });
      response.writeHead(status, headers).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${bound}/v1/events`,
    port: bound,
    received: [],
    tries: [],
    answer: () => ({ status: 202 }),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
  return receiver;
}

export interface World {
  dir: string;
  /** Starts a chat server on the test's own folder; ended with the test. */
  start(options?: Partial<ExampleChatServerOptions>): Promise<ExampleChatServer>;
  receiver(secret?: string, port?: number): Promise<Receiver>;
}

/** A test with a folder of its own, whose servers end with it. */
export const test = base.extend<{ world: World }>({
  world: async ({ leaks: _leaks }, use) => {
    const dir = mkdtempSync(join(tmpdir(), 'chat-server-'));
    const ends: (() => Promise<void>)[] = [];
    await use({
      dir,
      async start(options = {}) {
        const server = await startExampleChatServer({ dataDir: dir, timings: QUICK, ...options });
        ends.push(() => server.close());
        return server;
      },
      async receiver(secret, port) {
        const receiver = await startReceiver(secret, port);
        ends.push(() => receiver.close());
        return receiver;
      },
    });
    for (const end of ends.toReversed()) await end();
    rmSync(dir, { recursive: true, force: true });
  },
});

export interface Answered<T> {
  status: number;
  headers: Headers;
  body: T;
}

const JSON_TYPES = new Set(['application/json', 'application/problem+json']);

/** A call over real HTTP. */
export async function call<T = Record<string, unknown>>(
  server: { url: string },
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answered<T>> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', connection: 'close', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const type = response.headers.get('content-type')?.split(';')[0] ?? '';
  const parsed: unknown = JSON_TYPES.has(type) && text !== '' ? JSON.parse(text) : text;
  return { status: response.status, headers: response.headers, body: parsed as T };
}

export const NUDGE = {
  text: '[Paddock recovery] A background task of this chat was ended. Please go on.',
  sender: { kind: 'recovery', label: 'Paddock recovery' },
  onlyIfIdle: true,
};

export const nudge = (server: { url: string }, id: string, key: string, body: unknown = NUDGE) =>
  call<{ turnId?: string; code?: string; field?: string }>(server, 'POST', `/sessions/${id}/messages`, body, {
    'idempotency-key': key,
  });

export const createChat = async (server: { url: string }, body: Record<string, unknown>) =>
  (await call<{ sessionId: string; transcriptPath: string }>(server, 'POST', '/chats', body)).body;

/** The first happening of a kind in a chat, past or to come. */
export const happened = (
  server: ExampleChatServer,
  sessionId: string,
  kind: string,
  fits: (fields: Happening['fields']) => boolean = () => true,
) =>
  server.happenings.wait(
    (happening) => happening.sessionId === sessionId && happening.kind === kind && fits(happening.fields),
  );

/** A chat that has hung: its task is killed, nothing wakes it. */
export async function hungChat(server: ExampleChatServer, script = 'hang') {
  const chat = await createChat(server, { script });
  await happened(server, chat.sessionId, 'task.killed');
  return chat;
}

/** No turn ends by itself: {@link endTurn} ends it, so that no test hangs on who is faster. */
export const ENDLESS = { ...QUICK, replyMs: 3_600_000 };

/** A hung chat on a server whose turns from now on last until they are ended. */
export async function hungChatOfEndlessTurns(world: World) {
  const before = await world.start();
  const { sessionId, transcriptPath } = await hungChat(before);
  await before.close();
  return { server: await world.start({ timings: ENDLESS }), sessionId, transcriptPath };
}

/** Ends the running turn, as its user would. */
export async function endTurn(server: ExampleChatServer, sessionId: string): Promise<void> {
  await call(server, 'POST', `/chats/${sessionId}/stop`);
}

/** How many turns recovery has started in a chat. */
export const recoveryTurns = (server: ExampleChatServer, sessionId: string): number =>
  server.happenings
    .past(sessionId)
    .filter(({ kind, fields }) => kind === 'turn.started' && fields['cause'] === 'recovery').length;

export interface Line {
  type: string;
  operation?: string;
  content?: string;
  uuid?: string;
  parentUuid?: string | null;
  sessionId?: string;
  timestamp?: string;
  message?: { role: string; content: unknown };
  origin?: { kind: string };
  attachment?: { type: string; prompt?: string };
}

/** The transcript's entries; throws where a line is no JSON. */
export const transcript = (path: string): Line[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
