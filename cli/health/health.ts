import { hostname } from 'node:os';
import { silentLogger } from '#shared/platform/logger.js';
import { closeRedis, createRedis, untilReady } from '#shared/platform/redis.js';
import { createPulse } from '#shared/queue/pulse.js';
import { loadSettings } from '#shared/settings/environment.js';

const ANSWER_WITHIN_MS = 3_000;

/** Asks the watcher of this host; returns what is wrong with it, if anything is. */
export async function checkWatcher(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { settings } = loadSettings(env);
  const url = `http://127.0.0.1:${settings.port}/readyz`;
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
    return response.ok ? undefined : `${url} answers ${response.status}: ${await response.text()}`;
  } catch (error) {
    return `${url} does not answer: ${error instanceof Error ? error.message : String(error)}`;
  }
}

/**
 * A worker is well while it shows itself on the queue, which it does as long as it hears it. Not `CLIENT LIST`: a cluster's
 * node knows only its own connections, hosted Redis forbids it, and a worker that is connected may be deaf.
 */
export async function checkWorker(env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { settings } = loadSettings(env);
  const client = createRedis({
    url: settings.redisUrl,
    role: 'fail-fast',
    name: 'chat-recovery:health',
    logger: silentLogger(),
  });
  try {
    if (!(await untilReady(client, ANSWER_WITHIN_MS))) return 'Redis does not answer.';
    const { workers } = await createPulse(client, settings.redisTag).look();
    return workers.some((id) => isOfHost(id, hostname())) ? undefined : 'No worker of this host is alive on the queue.';
  } finally {
    await closeRedis(client);
  }
}

/** Whether a worker's id (`host:pid:random`) is of this host. */
export function isOfHost(workerId: string, host: string): boolean {
  return workerId.startsWith(`${host}:`);
}
