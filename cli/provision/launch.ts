import type { RedisFound } from './found.ts';
import { launchContainer } from './launch-container.ts';
import { launchProgram } from './launch-program.ts';
import type { LaunchOptions, RunningRedis } from './running.ts';

/** Makes a found Redis one to work with, on loopback only. Rejects in one sentence where it does not come up. */
export async function launchRedis(found: RedisFound, options: LaunchOptions): Promise<RunningRedis> {
  if (found.kind === 'program') return launchProgram(found, options);
  if (found.kind === 'docker') return launchContainer(found, options);
  return {
    url: found.url,
    description: 'the one that REDIS_URL names',
    pid: undefined,
    ended: new Promise(() => undefined),
    stop: async () => undefined,
  };
}
