import { checkWorker } from '../../../cli/health/health.ts';
import { eventuallyPasses } from '../../support/events.ts';
import { describe, expect, test } from './support.ts';

describe('`chat-recovery health worker`', () => {
  test('is content while a worker of this host shows itself, and names what is wrong once it is gone', async ({
    bench,
    redis,
  }) => {
    const env = { REDIS_URL: redis.url, REDIS_HASH_TAG: redis.tag };
    const worker = await bench.worker();
    await eventuallyPasses(async () => expect(await checkWorker(env)).toBeUndefined());
    await worker.close();
    expect(await checkWorker(env)).toContain('No worker of this host');
  });
});
