import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface HerdctlMessage {
  agent: string;
  sessionId: string;
  message: string;
  authorization: string | undefined;
  /** Ends the turn: only now is there an answer. */
  end: (answer?: { status?: number; success?: boolean; error?: string }) => void;
  /** Breaks the connection without one. */
  cut: () => void;
}

/** herdctl's web API reduced to its one call that matters: a message is answered when its turn has ended. */
export class HerdctlStandIn {
  readonly messages: HerdctlMessage[] = [];
  /** Called with each message; a test ends the turn here or later. */
  onMessage: (message: HerdctlMessage) => void = () => undefined;
  readonly #server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
    request.on('end', () => {
      const agent = /^\/api\/chat\/([^/]+)\/messages$/.exec(request.url ?? '')?.[1];
      if (agent === undefined) return void response.writeHead(request.url === '/api/agents' ? 200 : 404).end('[]');
      this.#take(decodeURIComponent(agent), body, request.headers.authorization, response);
    });
  });

  static async start(): Promise<HerdctlStandIn> {
    const standIn = new HerdctlStandIn();
    await new Promise<void>((resolve) => standIn.#server.listen(0, '127.0.0.1', resolve));
    return standIn;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(agent: string, body: string, authorization: string | undefined, response: ServerResponse): void {
    const { message, sessionId = randomUUID() } = JSON.parse(body) as { message: string; sessionId?: string };
    const jobId = randomUUID();
    const taken: HerdctlMessage = {
      agent,
      sessionId,
      message,
      authorization,
      end({ status = 200, success = true, error } = {}) {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ jobId, sessionId, success, response: 'Done.', ...(error ? { error } : {}) }));
      },
      cut: () => response.destroy(),
    };
    this.messages.push(taken);
    this.onMessage(taken);
  }
}
