import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { randomUUID } from 'node:crypto';
import { WebSocketServer, type WebSocket } from 'ws';

/** A chat as the stand-in keeps it. */
export interface StandInChat {
  projectSlug: string;
  sessionId: string;
  jobId: string | undefined;
  turnRunning: boolean;
  queued: string | null;
  tasks: { id: string; type: string; description: string; startedAt: string; stoppable: boolean }[];
}

export interface SaidFrame {
  type: string;
  payload: { projectSlug?: string; sessionId?: string; message?: string };
}

/**
 * A Paddock reduced to its WebSocket: the frames of `docs/hosts/paddock.md`, the snapshot of a new socket, and its three
 * silent refusals of `chat:continue` (Layer 2 off, unknown project, a turn that runs).
 */
export class PaddockStandIn {
  readonly chats = new Map<string, StandInChat>();
  /** Frames that clients said, pings left out. */
  readonly said: SaidFrame[] = [];
  /** Slugs of known projects, and whether Layer 2 is on for each. */
  readonly projects = new Map<string, { layer2: boolean }>([['p1', { layer2: true }]]);
  /** Called when a nudge has begun a turn; a test lets its model answer here. */
  onTurn: (chat: StandInChat, text: string) => void = () => undefined;
  /** Headers of every connection. */
  readonly connections: IncomingMessage['headers'][] = [];
  /** An old server knows only `running`. */
  old = false;
  /** Frames reach nobody: a connection that is dead and does not say so. */
  deaf = false;
  readonly #http = createServer();
  readonly #sockets = new WebSocketServer({ server: this.#http, path: '/ws' });

  static async start(port = 0): Promise<PaddockStandIn> {
    const standIn = new PaddockStandIn();
    await new Promise<void>((resolve) => standIn.#http.listen(port, '127.0.0.1', resolve));
    standIn.#sockets.on('connection', (socket, request) => standIn.#connected(socket, request));
    return standIn;
  }

  get port(): number {
    return (this.#http.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  add(sessionId: string, chat: Partial<StandInChat> = {}): StandInChat {
    const whole = {
      projectSlug: 'p1',
      sessionId,
      jobId: undefined,
      turnRunning: false,
      queued: null,
      tasks: [],
      ...chat,
    };
    this.chats.set(sessionId, whole);
    return whole;
  }

  begin(chat: StandInChat): string {
    chat.jobId = randomUUID();
    chat.turnRunning = true;
    this.#tell(this.#active(chat));
    return chat.jobId;
  }

  end(chat: StandInChat, outcome: { success: boolean; error?: string } = { success: true }): void {
    const { projectSlug, sessionId, jobId } = chat;
    chat.turnRunning = false;
    if (chat.tasks.length > 0) {
      this.#tell({ type: 'chat:background', payload: { projectSlug, sessionId, tasks: chat.tasks } });
    }
    this.#tell({ type: 'chat:complete', payload: { projectSlug, sessionId, jobId, ...outcome } });
    this.#tell(this.#active(chat));
  }

  queue(chat: StandInChat, text: string | null): void {
    chat.queued = text;
    const { projectSlug, sessionId } = chat;
    this.#tell({ type: 'chat:queued_state', payload: { projectSlug, sessionId, text } });
  }

  killedTask({ projectSlug, sessionId }: StandInChat): void {
    const payload = { projectSlug, sessionId, summary: 'It was stopped', timestamp: new Date().toISOString() };
    this.#tell({ type: 'chat:killed_task', payload });
  }

  /** Ends every connection; new ones are taken. */
  cut(): void {
    for (const socket of this.#sockets.clients) socket.terminate();
  }

  get open(): number {
    return this.#sockets.clients.size;
  }

  async close(): Promise<void> {
    this.cut();
    this.#sockets.close();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }

  #connected(socket: WebSocket, request: IncomingMessage): void {
    this.connections.push(request.headers);
    for (const chat of this.chats.values()) {
      if (chat.turnRunning || chat.tasks.length > 0) this.#send(socket, this.#active(chat));
      if (chat.queued !== null) {
        const { projectSlug, sessionId, queued } = chat;
        this.#send(socket, { type: 'chat:queued_state', payload: { projectSlug, sessionId, text: queued } });
      }
    }
    socket.on('message', (data: Buffer) => this.#heard(socket, JSON.parse(data.toString('utf8')) as SaidFrame));
  }

  #heard(socket: WebSocket, frame: SaidFrame): void {
    if (this.deaf) return;
    if (frame.type === 'ping') return this.#send(socket, { type: 'pong' });
    this.said.push(frame);
    const chat = this.chats.get(frame.payload.sessionId ?? '');
    const project = this.projects.get(frame.payload.projectSlug ?? '-');
    if (frame.type === 'chat:continue') {
      // Silently ignored, as Paddock does.
      if (chat === undefined || project?.layer2 !== true || chat.turnRunning) return undefined;
      this.begin(chat);
      this.onTurn(chat, '[Paddock recovery] Please go on.');
    }
    if (frame.type === 'chat:send') {
      if (chat === undefined || project === undefined) {
        const payload = { projectSlug: frame.payload.projectSlug, error: 'unknown project' };
        return this.#send(socket, { type: 'chat:error', payload });
      }
      this.begin(chat);
      this.onTurn(chat, frame.payload.message ?? '');
    }
    return undefined;
  }

  #active(chat: StandInChat): object {
    const { projectSlug, sessionId, jobId, turnRunning, tasks } = chat;
    const running = turnRunning || tasks.length > 0;
    const payload = { projectSlug, sessionId, jobId, running, startedAt: new Date().toISOString() };
    return { type: 'chat:active', payload: this.old ? payload : { ...payload, turnRunning } };
  }

  #tell(frame: object): void {
    if (this.deaf) return;
    for (const socket of this.#sockets.clients) this.#send(socket, frame);
  }

  #send(socket: WebSocket, frame: object): void {
    socket.send(JSON.stringify(frame));
  }
}
