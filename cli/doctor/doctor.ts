import { silentLogger } from '#shared/platform/logger.js';
import { closeRedis, createRedis, untilReady, type RedisClient } from '#shared/platform/redis.js';
import { createPulse } from '#shared/queue/pulse.js';
import { createSessionStore } from '#shared/session/redis-store.js';
import { createDrivers } from '#shared/session-api/drivers.js';
import { createPaddockLinks } from '#shared/session-api/paddock/links.js';
import type { Environment, ProcessSettings } from '#shared/settings/environment.js';
import { checkClock, checkRedisSettings, judgeDeliveries, judgePause, judgeQueue } from './check-redis.ts';
import { checkSessionApis, checkWatcher } from './check-reach.ts';
import { checkSettings } from './check-settings.ts';
import { checkFileEvents, checkFolders } from './check-transcripts.ts';
import { reasonOf, skipped, wrong, type Finding } from './finding.ts';

const REDIS_WITHIN_MS = 3_000;

/** Looks at everything that recovery needs, changes nothing, and says of each part what it found. */
export async function examine(env: Environment): Promise<Finding[]> {
  const { findings, loaded } = checkSettings(env);
  if (loaded === undefined)
    return [...findings, skipped('everything else', 'No process would start with these settings.')];
  const { settings } = loaded;
  const groups = await Promise.all([
    throughRedis(settings),
    checkWatcher(settings),
    sessionApis(settings, env),
    ...transcripts(settings),
  ]);
  return [...findings, ...groups.flat()];
}

function transcripts({ chatServers, transcriptSource }: ProcessSettings): Promise<Finding[]>[] {
  if (transcriptSource === 'file')
    return [...chatServers.map(checkFolders), checkFileEvents().then((found) => [found])];
  return [Promise.resolve([skipped('transcripts', 'They are read through the session API.')])];
}

async function throughRedis(settings: ProcessSettings): Promise<Finding[]> {
  const { redisUrl: url, redisTag: tag } = settings;
  const client = createRedis({ url, role: 'fail-fast', name: 'doctor', logger: silentLogger() });
  try {
    if (!(await untilReady(client, REDIS_WITHIN_MS))) return [unreachable('It does not answer.')];
    return await looksAt(client, settings, tag);
  } catch (error) {
    return [unreachable(reasonOf(error))];
  } finally {
    await closeRedis(client);
  }
}

async function looksAt(client: RedisClient, settings: ProcessSettings, tag: string): Promise<Finding[]> {
  const { sessionTtlMs, webhookToleranceMs } = settings;
  const store = createSessionStore({ redis: client, tag, sessionTtlMs, markTtlMs: 2 * webhookToleranceMs });
  const clock = await checkClock(() => store.now());
  const [redis, queue, pause, newest, nowMs] = await Promise.all([
    checkRedisSettings(client),
    createPulse(client, tag).look(),
    store.paused(),
    store.list({ limit: 1 }),
    store.now(),
  ]);
  return [
    ...redis,
    clock,
    ...judgeQueue(queue),
    judgePause(pause),
    judgeDeliveries(newest.sessions[0]?.updatedMs, nowMs),
  ];
}

/** Never with the address: it may hold a password. */
function unreachable(why: string): Finding {
  return wrong(
    'redis',
    `Not reachable: ${why}`,
    'Start it, or correct REDIS_URL. Queue, workers, clock and webhooks were not looked at.',
  );
}

async function sessionApis(settings: ProcessSettings, env: Environment): Promise<Finding[]> {
  const log = silentLogger();
  const drivers = createDrivers(settings, { env, log, paddock: createPaddockLinks(log) });
  try {
    return await checkSessionApis(settings, drivers);
  } finally {
    await drivers.close();
  }
}
