import { createConnection, type Socket } from 'node:net';

/** What came back, and how long after the request was handed to its connection. */
export interface HttpAnswer {
  status: number;
  ms: number;
  body: string;
}

interface Waiting {
  request: Buffer;
  settle: (answer: HttpAnswer | Error) => void;
}

/**
 * Sends requests that are already bytes over a fixed number of kept-alive connections. It parses no more than status and
 * length: the two cores are shared with what is being measured, so the sender must cost little.
 */
export class HttpSender {
  readonly #lines: Line[];
  readonly #queue: Waiting[] = [];

  private constructor(lines: Line[]) {
    this.#lines = lines;
    for (const each of lines) each.onFree = () => this.#next(each);
  }

  static async open(port: number, connections: number): Promise<HttpSender> {
    const sockets = Array.from({ length: connections }, () => connectTo(port));
    return new HttpSender((await Promise.all(sockets)).map((socket) => new Line(port, socket)));
  }

  /** Takes the first free connection; waits for one where there is none. Rejects where its connection breaks. */
  send(request: Buffer): Promise<HttpAnswer> {
    return new Promise((resolve, reject) => {
      const settle = (answer: HttpAnswer | Error): void => (answer instanceof Error ? reject(answer) : resolve(answer));
      const waiting = { request, settle };
      const free = this.#lines.find((each) => each.isFree);
      if (free === undefined) this.#queue.push(waiting);
      else free.take(waiting);
    });
  }

  #next(each: Line): void {
    const waiting = this.#queue.shift();
    if (waiting !== undefined) each.take(waiting);
  }

  close(): void {
    for (const each of this.#lines) each.close();
  }
}

const connectTo = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = createConnection({ port, host: '127.0.0.1', noDelay: true });
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });

/** One connection with at most one request under way. */
class Line {
  onFree: () => void = () => undefined;
  readonly #port: number;
  #socket: Socket;
  #current: Waiting | undefined;
  #sentMs = 0;
  #received = '';

  constructor(port: number, socket: Socket) {
    this.#port = port;
    this.#socket = socket;
    this.#listen(socket);
  }

  #listen(socket: Socket): void {
    socket.setEncoding('latin1');
    socket.on('data', (text: string) => this.#data(text));
    socket.on('error', (error) => this.#end(error));
    socket.on('close', () => this.#end(new Error('The connection was closed.')));
  }

  get isFree(): boolean {
    return this.#current === undefined;
  }

  take(waiting: Waiting): void {
    this.#current = waiting;
    this.#received = '';
    // A server ends what was idle for some seconds.
    if (this.#socket.destroyed || this.#socket.readableEnded) {
      this.#socket = createConnection({ port: this.#port, host: '127.0.0.1', noDelay: true });
      this.#listen(this.#socket);
    }
    this.#sentMs = performance.now();
    this.#socket.write(waiting.request);
  }

  close(): void {
    this.#socket.destroy();
  }

  #data(text: string): void {
    this.#received += text;
    const headEnd = this.#received.indexOf('\r\n\r\n');
    if (headEnd === -1) return;
    const length = Number(/content-length: (\d+)/i.exec(this.#received)?.[1] ?? 0);
    const body = this.#received.slice(headEnd + 4);
    if (body.length < length) return;
    const answer = { status: Number(this.#received.slice(9, 12)), ms: performance.now() - this.#sentMs, body };
    const { settle } = this.#current ?? {};
    this.#current = undefined;
    settle?.(answer);
    if (this.isFree) this.onFree();
  }

  #end(error: Error): void {
    this.#current?.settle(error);
    this.#current = undefined;
  }
}
