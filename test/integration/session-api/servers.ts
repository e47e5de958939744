import { once } from 'node:events';
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTcp, type AddressInfo, type Server, type Socket } from 'node:net';

/** A request as it arrived. */
export interface Arrived {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

export interface TestServer {
  url: string;
  port: number;
  arrived: Arrived[];
  /** TCP connections that were made, ever. */
  connections(): number;
  close(): Promise<void>;
}

type Answer = (response: ServerResponse, request: Arrived, socket: Socket) => void;

/** A real HTTP server that answers as the test says. */
export async function httpServer(answer: Answer): Promise<TestServer> {
  const arrived: Arrived[] = [];
  const server = createHttp((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const whole = { method, url, headers, body: Buffer.concat(chunks).toString('utf8') };
      arrived.push(whole);
      answer(response, whole, request.socket);
    });
  });
  return { ...(await listening(server)), arrived };
}

/** A TCP server that speaks no HTTP unless the test does. */
export async function tcpServer(onConnection: (socket: Socket) => void): Promise<TestServer> {
  return { ...(await listening(createTcp(onConnection))), arrived: [] };
}

async function listening(server: Server): Promise<Omit<TestServer, 'arrived'>> {
  const open = new Set<Socket>();
  let count = 0;
  server.on('connection', (socket: Socket) => {
    count += 1;
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    for (const socket of open) socket.destroy();
    await closed;
  };
  return { url: `http://127.0.0.1:${address.port}`, port: address.port, connections: () => count, close };
}

/** An address where nobody listens: a port that was free a moment ago. */
export async function nobodyThere(): Promise<string> {
  const server = await tcpServer(() => undefined);
  await server.close();
  return server.url;
}

/** Answers with a status and a JSON body. */
export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
