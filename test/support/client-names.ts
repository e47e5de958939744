import { Redis } from 'ioredis';
import { inject } from 'vitest';

/** Names that connections from the given local ports carry in Redis (`CLIENT LIST`): a leak names the part that opened it. */
export async function redisClientNames(localPorts: readonly (number | undefined)[]): Promise<string[]> {
  const url = inject('redisUrl');
  const ours = new Set(localPorts.filter((port) => port !== undefined));
  if (typeof url !== 'string' || ours.size === 0) return [];
  const client = new Redis(url);
  try {
    const list = String(await client.client('LIST'));
    return list
      .split('\n')
      .filter((line) => ours.has(Number(/ addr=\S*:(\d+) /.exec(line)?.[1])))
      .map((line) => `Redis client "${field(line, 'name')}" (last command ${field(line, 'cmd')})`);
  } finally {
    client.disconnect();
  }
}

function field(line: string, name: string): string {
  return new RegExp(` ${name}=(\\S*)`).exec(line)?.[1] ?? '';
}
