import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  port: number;
  /** Connections that are open now. */
  readonly open: number;
  /** Cuts every connection (reset) and refuses new ones until `heal`. */
  cut(): void;
  /** Cuts the open connections once; new ones are served. */
  cutOnce(): void;
  /** Bytes stop in both directions, kept until `heal`; connections stay open, new ones are taken and hang. */
  freeze(): void;
  /** Connections that are open now go dead: they stay open, and nothing comes through any more. New ones are served. */
  deaden(): void;
  /** Each chunk waits this long, in both directions. */
  delay(ms: number): void;
  /** Cuts a connection after it has brought this many more bytes `toServer` or `toClient`: a request or reply torn in two. */
  cutAfter(bytes: number, direction: 'toServer' | 'toClient'): void;
  /** Everything flows again. */
  heal(): void;
  close(): Promise<void>;
}

export type Direction = 'toServer' | 'toClient';

/**
 * Sees each chunk before it goes on. `drop`: it never does, and its connection is cut. `swallow`: neither it nor anything
 * after it goes on in that direction, and the connection stays open.
 */
export type Tap = (chunk: Buffer, direction: Direction) => 'pass' | 'drop' | 'swallow';

interface Fault {
  /** Connections made up to this one are dead. */
  deadUpTo: number;
  cut: boolean;
  frozen: boolean;
  delayMs: number;
  cutAfter: { bytes: number; direction: 'toServer' | 'toClient' } | undefined;
}

/** A TCP proxy that breaks the network on purpose, between a client and `target` on loopback. */
export async function tcpProxy(target: { port: number; host?: string }, tap?: Tap): Promise<TcpProxy> {
  const fault: Fault = { deadUpTo: 0, cut: false, frozen: false, delayMs: 0, cutAfter: undefined };
  let made = 0;
  const sockets = new Set<Socket>();
  const held = new Set<() => void>();
  const server = createServer((client) => {
    if (fault.cut) {
      client.destroy();
      return;
    }
    const upstream = connect({ port: target.port, host: target.host ?? '127.0.0.1' });
    made += 1;
    pair(client, upstream, { fault, held, tap, number: made }, sockets);
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
    },
    deaden() {
      fault.deadUpTo = made;
    },
    delay(ms) {
      fault.delayMs = ms;
    },
    cutAfter(bytes, direction) {
      fault.cutAfter = { bytes, direction };
    },
    heal() {
      Object.assign(fault, { cut: false, frozen: false, delayMs: 0, cutAfter: undefined });
      for (const release of held) release();
    },
    async close() {
      cutAll();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

interface Wire {
  /** Which connection this is, from 1. */
  number: number;
  fault: Fault;
  /** What each frozen flow does once it is thawed. */
  held: Set<() => void>;
  tap: Tap | undefined;
}

function pair(client: Socket, upstream: Socket, wire: Wire, sockets: Set<Socket>): void {
  flow(client, upstream, 'toServer', wire);
  flow(upstream, client, 'toClient', wire);
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
  }
}

function flow(from: Socket, to: Socket, direction: Direction, { fault, held, tap, number }: Wire): void {
  const frozen: Buffer[] = [];
  const cut = (): void => {
    to.destroy();
    from.resetAndDestroy();
  };
  const pass = (chunk: Buffer): void => {
    if (fault.frozen) {
      frozen.push(chunk);
      return;
    }
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
    to.write(chunk.subarray(0, limit.bytes), cut);
  };
  const release = (): void => {
    for (const chunk of frozen.splice(0)) pass(chunk);
  };
  held.add(release);
  // Each timer lets the oldest chunk go: one that comes after the healing does not overtake those still on their way.
  const late: Buffer[] = [];
  const passOldest = (): void => {
    const chunk = late.shift();
    if (chunk !== undefined && to.writable) pass(chunk);
  };
  let swallows = false;
  from.on('data', (chunk: Buffer) => {
    const verdict = tap?.(chunk, direction);
    if (verdict === 'drop') return cut();
    swallows ||= verdict === 'swallow' || number <= fault.deadUpTo;
    if (swallows) return undefined;
    if (fault.delayMs === 0 && late.length === 0) return pass(chunk);
    late.push(chunk);
    setTimeout(passOldest, fault.delayMs);
    return undefined;
  });
  from.on('end', () => to.end());
  from.on('close', () => held.delete(release));
}
