import { closeRedis, createRedis, shownRedisUrl, untilReady } from '#shared/platform/redis.js';
import { silentLogger } from '#shared/platform/logger.js';
import type { Way } from './found.ts';

const ANSWER_WITHIN_MS = 2_000;

/** `REDIS_URL` names one. One that was named and does not answer is an error, not a reason to take another. */
export const byUrl: Way = {
  advice: 'set REDIS_URL to one that runs',
  async find({ env }) {
    const url = env['REDIS_URL'];
    if (url === undefined || url === '') return 'REDIS_URL is not set';
    const client = createRedis({ url, role: 'fail-fast', name: 'chat-recovery:find', logger: silentLogger() });
    const answers = await untilReady(client, ANSWER_WITHIN_MS);
    await closeRedis(client);
    if (!answers) throw new Error(`The Redis that REDIS_URL names (${shownRedisUrl(url)}) does not answer.`);
    return { kind: 'url', url };
  },
};
