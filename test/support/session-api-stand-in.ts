import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A chat server's session API that keeps its contract (SPEC §7) and fails on demand: the key is looked up before any busy
 * check, only a 202 is remembered. It records every message that reached it, so that a judge can count turns.
 */
export interface StandInSession {
  state: 'idle' | 'running' | 'waiting' | 'closed';
  queuedFollowUp: boolean;
  project: string;
}

/** How the next calls are answered; `undefined`: as the contract says. */
export type Fault =
  | { kind: 'status'; status: number; headers?: Record<string, string> }
  /** The message is taken, the answer never leaves. */
  | { kind: 'accept-then-cut' }
  /** The connection is cut before anything is read. */
  | { kind: 'cut' }
  | { kind: 'hang' };

export interface ReceivedMessage {
  sessionId: string;
  key: string;
  text: string;
  atMs: number;
  /** `started`: a turn of its own; `replayed`: answered from memory; else the refusal's code. */
  outcome: string;
}

export class SessionApiStandIn {
  readonly sessions = new Map<string, StandInSession>();
  readonly received: ReceivedMessage[] = [];
  /** Called when a message starts a turn: write the transcript, send webhooks. */
  onTurn: (message: ReceivedMessage) => void = () => undefined;
  /** Called when a session's state is asked for, before the answer leaves. */
  onState: (sessionId: string) => void = () => undefined;
  readonly #faults: { method: string; fault: Fault; left: number }[] = [];
  readonly #accepted = new Map<string, string>();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<SessionApiStandIn> {
    const server = createServer();
    const standIn = new SessionApiStandIn(server);
    server.on('request', (request, response) => void standIn.#answer(request, response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return standIn;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Turns that nudges started: the number that must be one. */
  turns(sessionId: string): ReceivedMessage[] {
    return this.received.filter((message) => message.sessionId === sessionId && message.outcome === 'started');
  }

  add(sessionId: string, session: Partial<StandInSession> = {}): StandInSession {
    const whole = { state: 'idle' as const, queuedFollowUp: false, project: 'demo', ...session };
    this.sessions.set(sessionId, whole);
    return whole;
  }

  /** The next `times` calls of that method fail so. */
  fail(method: 'GET' | 'POST', fault: Fault, times = 1): void {
    this.#faults.push({ method, fault, left: times });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = this.#nextFault(request.method ?? '');
    if (fault?.kind === 'cut') return void request.socket.destroy();
    if (fault?.kind === 'hang') return;
    const body = await readBody(request);
    if (fault?.kind === 'status') return send(response, fault.status, { error: 'on demand' }, fault.headers);
    const sessionId = /^\/sessions\/([^/]+)/.exec(request.url ?? '')?.[1] ?? '';
    const session = this.sessions.get(sessionId);
    if (session === undefined) return send(response, 404, { error: 'no such session' });
    if (request.method === 'GET') {
      this.onState(sessionId);
      return send(response, 200, session);
    }
    const answer = this.#message(sessionId, session, String(request.headers['idempotency-key']), body);
    if (fault?.kind === 'accept-then-cut') return void request.socket.destroy();
    return send(response, answer.status, answer.body);
  }

  #nextFault(method: string): Fault | undefined {
    const next = this.#faults.find((entry) => entry.method === method && entry.left > 0);
    if (next !== undefined) next.left -= 1;
    return next?.fault;
  }

  #message(sessionId: string, session: StandInSession, key: string, body: string): { status: number; body: unknown } {
    const { text } = JSON.parse(body) as { text: string };
    const note = (outcome: string): ReceivedMessage => {
      const message = { sessionId, key, text, atMs: Date.now(), outcome };
      this.received.push(message);
      return message;
    };
    const known = this.#accepted.get(key);
    if (known !== undefined) {
      note('replayed');
      return { status: 202, body: { turnId: known } };
    }
    const code = busyCode(session);
    if (code !== undefined) {
      note(code);
      return { status: 409, body: { code } };
    }
    const turnId = randomUUID();
    this.#accepted.set(key, turnId);
    session.state = 'running';
    this.onTurn(note('started'));
    return { status: 202, body: { turnId } };
  }
}

function busyCode({ state, queuedFollowUp }: StandInSession): string | undefined {
  if (state === 'running') return 'turn_running';
  if (state === 'waiting') return 'waiting';
  return queuedFollowUp ? 'queued_follow_up' : undefined;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function send(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
