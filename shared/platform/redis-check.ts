import { Cluster, type Redis } from 'ioredis';
import type { Logger } from './logger.ts';
import type { RedisClient } from './redis.ts';

/** `ZADD … GT`, `GETEX` and the replies that BullMQ reads came with 6.2. */
const OLDEST = { major: 6, minor: 2 };

/**
 * Start-up check: what about this Redis can lose work that was accepted, each as one sentence that names the setting.
 * Empty: all is well. Of a cluster every master is asked. Throws the connection's error where Redis cannot be asked at all.
 */
export async function checkRedis(client: RedisClient): Promise<string[]> {
  const servers = client instanceof Cluster ? client.nodes('master') : [client];
  return [...new Set((await Promise.all(servers.map(checkServer))).flat())];
}

/**
 * Checks at each connection, since another server may stand behind it then, and warns of what is new. Resolves nothing and
 * waits for nothing; `findings` are those of the last check.
 */
export function tellOfRedis(client: RedisClient, logger: Logger): { findings(): readonly string[] } {
  let findings: string[] = [];
  const check = async (): Promise<void> => {
    try {
      const found = await checkRedis(client);
      for (const warning of found) if (!findings.includes(warning)) logger.warn({}, warning);
      findings = found;
    } catch (err) {
      logger.debug({ err }, 'Redis could not be asked about its settings.');
    }
  };
  client.on('ready', () => void check());
  return { findings: () => findings };
}

async function checkServer(client: Redis): Promise<string[]> {
  const info = parseInfo(await client.info());
  return [oldVersion(info), evicting(info), noPersistence(info, await appendFsync(client))].filter(
    (warning) => warning !== undefined,
  );
}

function parseInfo(text: string): Map<string, string> {
  const pairs = text
    .split(/\r?\n/)
    .filter((line) => line.includes(':'))
    .map((line): [string, string] => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]);
  return new Map(pairs);
}

function oldVersion(info: Map<string, string>): string | undefined {
  // Valkey tells the Redis version that it is compatible with here, and its own elsewhere.
  const version = info.get('redis_version') ?? '0.0.0';
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const fits = major > OLDEST.major || (major === OLDEST.major && minor >= OLDEST.minor);
  return fits ? undefined : `redis_version is ${version}; ${OLDEST.major}.${OLDEST.minor} or later is needed.`;
}

function evicting(info: Map<string, string>): string | undefined {
  const policy = info.get('maxmemory_policy') ?? 'noeviction';
  if (policy === 'noeviction') return undefined;
  return `maxmemory-policy is ${policy}; set noeviction, or Redis may drop sessions and queued work when memory is short.`;
}

function noPersistence(info: Map<string, string>, fsync: string | undefined): string | undefined {
  if (info.get('aof_enabled') !== '1') {
    return 'appendonly is no; set it to yes, or a restart of Redis loses work that was already accepted.';
  }
  if (fsync === undefined || fsync === 'always') return undefined;
  return `appendfsync is ${fsync}; set always, or a crash of Redis can lose the last two seconds of accepted work.`;
}

/** Hosted Redis often forbids CONFIG: then this one question stays open. */
async function appendFsync(client: Redis): Promise<string | undefined> {
  try {
    const reply = await client.call('CONFIG', 'GET', 'appendfsync');
    return Array.isArray(reply) ? String(reply[1]) : undefined;
  } catch (error) {
    if (error instanceof Error && error.name === 'ReplyError') return undefined;
    throw error;
  }
}
