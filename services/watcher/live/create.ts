import { collapseErrors } from '#shared/platform/collapse.js';
import type { Logger } from '#shared/platform/logger.js';
import { createRedis, type RedisClient } from '#shared/platform/redis.js';
import { sessionKeys } from '#shared/session/keys.js';
import type { SessionStore } from '#shared/session/store.js';
import type { ProcessSettings } from '#shared/settings/environment.js';
import { createTrailReader } from '#shared/trail/reader.js';
import { createTrailStream } from '#shared/trail/trail-stream.js';
import { createLiveEvents, type LiveEvents } from './live-events.ts';
import { createStats, type Stats } from './stats.ts';

export interface CreateLiveParts {
  /** The watcher's client, which fails fast. */
  redis: RedisClient;
  store: Pick<SessionStore, 'now'>;
  settings: Pick<ProcessSettings, 'redisUrl' | 'redisTag'>;
  logger: Logger;
}

/** Everything that follows the trail in this process: one reader, the event stream's peers, the counts. */
export interface LiveSide {
  events: LiveEvents;
  stats: Stats;
  close(): Promise<void>;
}

export function createLive({ redis, store, settings, logger }: CreateLiveParts): LiveSide {
  const { trail } = sessionKeys(settings.redisTag);
  const stream = createTrailStream(redis, trail);
  const report = collapseErrors({
    report: (err, leftOut) => logger.warn({ err, leftOut }, 'The trail cannot be read.'),
  });
  const reader = createTrailReader({
    stream,
    connect: () => {
      const client = createRedis({ url: settings.redisUrl, role: 'patient', name: 'watcher-trail', logger });
      return { client, stream: createTrailStream(client, trail) };
    },
    onError: report,
  });
  const now = (): Promise<number> => store.now();
  const events = createLiveEvents({ reader, stream, now });
  return {
    events,
    stats: createStats({ reader, stream, now }),
    async close() {
      events.close();
      await reader.close();
    },
  };
}
