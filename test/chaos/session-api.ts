import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Chat } from './chat.ts';
import type { Journal } from './journal.ts';
import type { ApiFault } from './plan-chat.ts';
import { WORKERS, type WorkerName } from './scale.ts';

export interface SessionApiOptions {
  chats: ReadonlyMap<string, Chat>;
  journal: Journal;
  /** A message was taken and its answer is about to leave; true: it never does. */
  beforeAnswer: (worker: WorkerName, chat: Chat, started: boolean) => boolean;
  /** Sabotage: busy is checked before the key. */
  busyBeforeKey: boolean;
}

interface Call {
  worker: WorkerName;
  chat: Chat;
  fault: ApiFault;
  response: ServerResponse;
}
interface Answer {
  status: number;
  body: unknown;
}

/** Longer than any client waits. */
const NEVER_MS = 20_000;
const SLOW_MS = 500;

/**
 * The session API of the chaos run's chat server: it keeps its contract (the key is looked up before any busy check, only a
 * 202 is remembered, idle is checked and the turn begun in one step) and fails as each chat's plan says. Every worker has a
 * path of its own in it (`/worker-1/sessions/…`), so that the journal can tell who called.
 */
export class ChaosSessionApi {
  readonly #options: SessionApiOptions;
  readonly #turns = new Map<string, string>();
  readonly #server: Server;

  private constructor(options: SessionApiOptions, server: Server) {
    this.#options = options;
    this.#server = server;
  }

  static async start(options: SessionApiOptions): Promise<ChaosSessionApi> {
    const server = createServer({ keepAliveTimeout: 3_000 });
    const api = new ChaosSessionApi(options, server);
    server.on('request', (request, response) => void api.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return api;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, path, , sessionId = ''] = (request.url ?? '').split('/');
    const worker = WORKERS.find((name) => name === path) ?? 'worker-1';
    const chat = this.#options.chats.get(sessionId);
    const body = await readBody(request);
    if (chat === undefined || body === undefined) return send(response, { status: 404, body: { code: 'not_found' } });
    const method = request.method === 'GET' ? 'GET' : 'POST';
    const call: Call = { worker, chat, fault: chat.nextFault(method), response };
    if (method === 'GET') return this.#get(call);
    return this.#post(call, String(request.headers['idempotency-key']), body);
  }

  #get(call: Call): void {
    const { chat, worker, fault } = call;
    const lied = fault === 'says-idle' && chat.state !== 'closed';
    const state = lied ? 'idle' : chat.state;
    const queuedFollowUp = !lied && chat.queuedFollowUp;
    const status: Answer =
      chat.gone === undefined
        ? {
            status: 200,
            body: { state, queuedFollowUp, project: chat.plan.project, transcriptPath: chat.transcript.path },
          }
        : { status: chat.gone, body: { code: 'gone' } };
    const early = troubled(call);
    const answer = early === undefined ? `${status.status} ${state}` : fault;
    this.#options.journal.note({ t: 'get', chat: chat.id, worker, answer, bytes: chat.bytes });
    if (early === undefined) send(call.response, status);
    else early();
    // The worst moment for a person to write: the worker has just been told that the chat is idle.
    if (early === undefined && state === 'idle') setImmediate(() => chat.happenings.emit('get'));
  }

  #post(call: Call, key: string, body: string): void {
    const { chat, worker, fault } = call;
    const note = (outcome: string): void =>
      this.#options.journal.note({ t: 'post', chat: chat.id, worker, key, outcome, bytes: chat.bytes });
    const early = troubled(call);
    if (early !== undefined) {
      note(fault);
      return early();
    }
    const { answer, outcome, begin } = this.#message(chat, key, body);
    note(outcome);
    begin?.();
    if (answer.status === 202 && this.#options.beforeAnswer(worker, chat, outcome === 'started')) return undefined;
    return after(call, answer);
  }

  #message(chat: Chat, key: string, body: string): { answer: Answer; outcome: string; begin?: () => void } {
    const known = this.#turns.get(key);
    const busy = busyCode(chat);
    const replay =
      known === undefined ? undefined : { answer: { status: 202, body: { turnId: known } }, outcome: 'replayed' };
    if (replay !== undefined && !this.#options.busyBeforeKey) return replay;
    if (chat.gone !== undefined) return { answer: { status: chat.gone, body: { code: 'gone' } }, outcome: 'gone' };
    if (busy !== undefined) return { answer: { status: 409, body: { code: busy } }, outcome: busy };
    if (replay !== undefined) return replay;
    const { text } = JSON.parse(body) as { text: string };
    const turnId = randomUUID();
    this.#turns.set(key, turnId);
    return { answer: { status: 202, body: { turnId } }, outcome: 'started', begin: () => chat.nudged(text, turnId) };
  }
}

function busyCode({ state, queuedFollowUp }: Chat): string | undefined {
  if (state === 'running') return 'turn_running';
  if (state === 'waiting') return 'waiting';
  return queuedFollowUp ? 'queued_follow_up' : undefined;
}

/** What is done instead of an answer, where the call fails before it is looked at. */
function troubled({ fault, response }: Call): (() => void) | undefined {
  switch (fault) {
    case '429':
      return () => send(response, { status: 429, body: { code: 'slow_down' } }, { 'retry-after': '1' });
    case '500':
    case '503':
    case '403':
      return () => send(response, { status: Number(fault), body: { code: 'on_purpose' } });
    case 'reset':
      return () => response.socket?.resetAndDestroy();
    case 'hang':
      return () => void setTimeout(() => response.destroy(), NEVER_MS).unref();
    case 'lie':
      return () => send(response, { status: 200, body: '<html>It works!</html>' }, { 'content-type': 'text/html' });
    default:
      return undefined;
  }
}

/** The answer of a call that was carried out, as its fault leaves it. */
function after({ fault, response }: Call, answer: Answer): void {
  switch (fault) {
    case '502-after':
      return send(response, { status: 502, body: { code: 'bad_gateway' } });
    case 'reset-after':
      return void response.socket?.resetAndDestroy();
    case 'hang-after':
      return void setTimeout(() => response.destroy(), NEVER_MS).unref();
    case 'lie-after':
      return send(response, { status: 200, body: 'sure' });
    case 'torn-after':
      response.writeHead(answer.status, { 'content-type': 'application/json', 'content-length': '500' });
      return void response.write('{"turnId": "', () => response.destroy());
    case 'slow':
      return void setTimeout(() => send(response, answer), SLOW_MS);
    default:
      return send(response, answer);
  }
}

async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
  } catch {
    // The caller went away within its own request: nothing was asked.
    return undefined;
  }
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, { status, body }: Answer, headers: Record<string, string> = {}): void {
  if (response.destroyed) return;
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}
