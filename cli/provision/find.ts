import { byDebian } from './by-debian.ts';
import { byDocker } from './by-docker.ts';
import { byPath } from './by-path.ts';
import { byUrl } from './by-url.ts';
import type { ProvisionContext, RedisFound, Way } from './found.ts';

/** In this order: what was asked for, what is there, what can be had. */
export const WAYS: readonly Way[] = [byUrl, byPath, byDocker, byDebian];

/** The first Redis that one of the ways leads to; otherwise an error that names the ways and why each led nowhere. */
export async function findRedis(context: ProvisionContext, ways: readonly Way[] = WAYS): Promise<RedisFound> {
  const failures: string[] = [];
  for (const way of ways) {
    const found = await way.find(context);
    if (typeof found !== 'string') return found;
    failures.push(found);
  }
  const advice = ways.map((way) => way.advice).join(', or ');
  throw new Error(`No Redis was found (${failures.join('; ')}). To have one: ${advice}.`);
}
