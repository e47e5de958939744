import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  port: number;
  /** Connections that are open now. */
  readonly open: number;
  /** Cuts every connection (reset) and refuses new ones until `heal`. */
  cut(): void;
  /** Cuts the open connections once; new ones are served. */
  cutOnce(): void;
  /** Bytes stop in both directions; connections stay open, new ones are taken and hang. */
  freeze(): void;
  /** Each chunk waits this long, in both directions. */
  delay(ms: number): void;
  /** Cuts a connection after it has brought this many more bytes `toServer` or `toClient`: a request or reply torn in two. */
  cutAfter(bytes: number, direction: 'toServer' | 'toClient'): void;
  /** Everything flows again. */
  heal(): void;
  close(): Promise<void>;
}

interface Fault {
  cut: boolean;
  frozen: boolean;
  delayMs: number;
  cutAfter: { bytes: number; direction: 'toServer' | 'toClient' } | undefined;
}

/** A TCP proxy that breaks the network on purpose, between a client and `target` on loopback. */
export async function tcpProxy(target: { port: number; host?: string }): Promise<TcpProxy> {
  const fault: Fault = { cut: false, frozen: false, delayMs: 0, cutAfter: undefined };
  const sockets = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true }, (client) => {
    if (fault.cut) {
      client.destroy();
      return;
    }
    const upstream = connect({ port: target.port, host: target.host ?? '127.0.0.1' });
    pair(client, upstream, fault, sockets);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve());
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.');

  const cutAll = (): void => {
    for (const socket of sockets) socket.resetAndDestroy();
  };
  return {
    port: address.port,
    get open() {
      return sockets.size / 2;
    },
    cut() {
      fault.cut = true;
      cutAll();
    },
    cutOnce: cutAll,
    freeze() {
      fault.frozen = true;
      for (const socket of sockets) socket.pause();
    },
    delay(ms) {
      fault.delayMs = ms;
    },
    cutAfter(bytes, direction) {
      fault.cutAfter = { bytes, direction };
    },
    heal() {
      Object.assign(fault, { cut: false, frozen: false, delayMs: 0, cutAfter: undefined });
      for (const socket of sockets) socket.resume();
    },
    async close() {
      cutAll();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function pair(client: Socket, upstream: Socket, fault: Fault, sockets: Set<Socket>): void {
  flow(client, upstream, 'toServer', fault);
  flow(upstream, client, 'toClient', fault);
  for (const [socket, other] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    sockets.add(socket);
    socket.on('error', () => other.destroy());
    socket.on('close', () => {
      sockets.delete(socket);
      other.destroy();
    });
    if (!fault.frozen) socket.resume();
  }
}

function flow(from: Socket, to: Socket, direction: 'toServer' | 'toClient', fault: Fault): void {
  const pass = (chunk: Buffer): void => {
    const limit = fault.cutAfter;
    if (limit === undefined || limit.direction !== direction) {
      to.write(chunk);
      return;
    }
    if (chunk.length < limit.bytes) {
      limit.bytes -= chunk.length;
      to.write(chunk);
      return;
    }
    fault.cutAfter = undefined;
    to.write(chunk.subarray(0, limit.bytes), () => {
      to.destroy();
      from.resetAndDestroy();
    });
  };
  from.on('data', (chunk: Buffer) => {
    if (fault.delayMs === 0) pass(chunk);
    else setTimeout(() => pass(chunk), fault.delayMs);
  });
  from.on('end', () => to.end());
}
