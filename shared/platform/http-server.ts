import { createServer, type RequestListener } from 'node:http';

const IDLE_SWEEP_MS = 20;

export interface ListenOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** Who wants the port, for the sentence when it is taken: `The watcher`. */
  name: string;
  /** How long `close` waits for requests under way before it cuts them; 2 s (event streams never end by themselves). */
  graceMs?: number;
}

export interface ListeningServer {
  /** The real address, also where port 0 was asked for. */
  host: string;
  port: number;
  /** `http://host:port`, an IPv6 host in brackets. */
  url: string;
  /** Stops taking connections, lets requests under way end for `graceMs`, cuts the rest. Idempotent. */
  close(): Promise<void>;
}

/** Opens the port and returns the real address. Rejects with a sentence that says what to do where the port is taken. */
export async function listen(handler: RequestListener, options: ListenOptions): Promise<ListeningServer> {
  const server = createServer(handler);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(helpful(error, options)));
    server.listen(options.port, options.host, () => resolve());
  });
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error(`${options.name} listens on no TCP port.`);
  const { address, port, family } = bound;
  let closing: Promise<void> | undefined;

  const shut = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    // A kept-alive connection becomes idle again when its answer is out, and nobody else would close it then.
    const sweep = setInterval(() => server.closeIdleConnections(), IDLE_SWEEP_MS);
    const cut = setTimeout(() => server.closeAllConnections(), options.graceMs ?? 2_000);
    await closed;
    clearInterval(sweep);
    clearTimeout(cut);
  };

  return {
    host: address,
    port,
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    close: () => (closing ??= shut()),
  };
}

function helpful(error: NodeJS.ErrnoException, { host, port, name }: ListenOptions): Error {
  const sentences: Record<string, string> = {
    EADDRINUSE: `${name} cannot listen on ${host}:${port}: another program does. Stop it, or set PORT to a free one.`,
    EACCES: `${name} may not listen on ${host}:${port}. Set PORT to one above 1023.`,
    EADDRNOTAVAIL: `${name} cannot listen on ${host}: this machine has no such address. Set HOST to one that it has.`,
  };
  const sentence = sentences[error.code ?? ''];
  return sentence === undefined ? error : new Error(sentence, { cause: error });
}
