import { networkInterfaces } from 'node:os';
import { silentLogger } from '#shared/platform/logger.js';
import { closeRedis, createRedis, untilReady } from '#shared/platform/redis.js';
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

/** A worker has no address of its own: it is well while Redis sees it connected from this host. */
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
    const list = String(await client.client('LIST'));
    return hasWorkerFrom(list, `${settings.redisTag}:worker:`, ownAddresses())
      ? undefined
      : 'No worker of this host is connected to Redis.';
  } finally {
    await closeRedis(client);
  }
}

/** Whether `CLIENT LIST` shows a connection whose name begins so, from one of the addresses. */
export function hasWorkerFrom(clientList: string, namePrefix: string, addresses: readonly string[]): boolean {
  return clientList.split('\n').some((line) => {
    const name = / name=(\S*)/.exec(line)?.[1] ?? '';
    const address = / addr=\[?([^\s\]]*?)\]?:\d+ /.exec(line)?.[1] ?? '';
    return name.startsWith(namePrefix) && addresses.includes(address);
  });
}

function ownAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address));
}
