import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A chat server reduced to `GET /sessions/{id}/transcript`, whose files a test changes between two requests. */
export interface RangeServer {
  url: string;
  /** Content by session id. */
  files: Map<string, Buffer>;
  /** The `Range` of every request so far. */
  ranges: string[];
  /** Bytes of bodies so far. */
  sentBytes: number;
  /** Called before the n-th request (from 0) is answered. */
  before: (index: number) => void;
  /** Answers a request in its place; `false`: as usual. */
  instead: (request: IncomingMessage, response: ServerResponse, index: number) => boolean;
  close(): Promise<void>;
}

export async function startRangeServer(): Promise<RangeServer> {
  const http = createServer((request, response) => {
    const index = server.ranges.length;
    server.ranges.push(request.headers.range ?? '');
    server.before(index);
    if (!server.instead(request, response, index)) answer(server, request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const server: RangeServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    files: new Map(),
    ranges: [],
    sentBytes: 0,
    before: () => undefined,
    instead: () => false,
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return server;
}

function answer(server: RangeServer, request: IncomingMessage, response: ServerResponse): void {
  const id = /^\/sessions\/([^/]+)\/transcript$/.exec(request.url ?? '')?.[1] ?? '';
  const file = server.files.get(id);
  if (file === undefined) return void response.writeHead(404).end('{}');
  const [, from = '', to = ''] = /^bytes=(\d*)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  const start = from === '' ? Math.max(0, file.length - Number(to)) : Number(from);
  const end = from === '' || to === '' ? file.length : Math.min(Number(to) + 1, file.length);
  if (start >= file.length) {
    return void response.writeHead(416, { 'content-range': `bytes */${file.length}` }).end();
  }
  const part = file.subarray(start, end);
  server.sentBytes += part.length;
  response.writeHead(206, { 'content-range': `bytes ${start}-${end - 1}/${file.length}` }).end(part);
  return undefined;
}
