import type { Socket } from 'node:net';
import { Redis } from 'ioredis';
import { inject } from 'vitest';

/** Names that the given sockets carry in Redis (`CLIENT LIST`), so that a leak names the part that opened it. */
export async function createClientNames(sockets: readonly Socket[]): Promise<string[]> {
  const url = inject('redisUrl');
  if (typeof url !== 'string' || sockets.length === 0) return [];
  const port = Number(new URL(url).port || 6379);
  const ours = new Set(sockets.filter((socket) => socket.remotePort === port).map((socket) => socket.localPort));
  if (ours.size === 0) return [];
  const client = new Redis(url);
  try {
    const list = String(await client.client('LIST'));
    return list
      .split('\n')
      .filter((line) => ours.has(Number(/ addr=\S*:(\d+) /.exec(line)?.[1])))
      .map(
        (line) => `Redis client "${/ name=(\S*)/.exec(line)?.[1] ?? ''}" (last: ${/ cmd=(\S*)/.exec(line)?.[1] ?? ''})`,
      );
  } finally {
    client.disconnect();
  }
}
