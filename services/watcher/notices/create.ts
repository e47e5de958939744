import type { RedisClient } from '#shared/platform/redis.js';
import { sessionKeys } from '#shared/session/keys.js';
import type { ProcessSettings } from '#shared/settings/environment.js';
import { createTrailStream } from '#shared/trail/trail-stream.js';
import { createConditions, type ConditionParts } from './conditions.ts';
import { startNotices, type NoticeParts, type Notices, type NoticeTuning } from './notices.ts';
import { createOutbox, type NoticeLimits } from './outbox.ts';

type Settings = Pick<ProcessSettings, 'redisTag' | 'noticeWebhookUrl' | 'noticeWebhookSecret'>;

export interface CreateNoticesParts extends ConditionParts, Pick<NoticeParts, 'count' | 'log'> {
  /** The watcher's client, which fails fast. */
  redis: RedisClient;
  settings: Settings;
  tuning?: (NoticeTuning & { limits?: Partial<NoticeLimits> }) | undefined;
}

const LIMITS: NoticeLimits = { single: 5, windowMs: 60_000, outbox: 2_000, examples: 20 };

/** Outgoing notices and the conditions that some of them tell of, begun. */
export function createNotices({ redis, settings, tuning, count, log, ...looked }: CreateNoticesParts): Notices {
  const { noticeWebhookUrl: url, noticeWebhookSecret: secret, redisTag } = settings;
  return startNotices({
    outbox: createOutbox(redis, redisTag, { ...LIMITS, ...tuning?.limits }),
    stream: createTrailStream(redis, sessionKeys(redisTag).trail),
    receiver: url === undefined || secret === undefined ? undefined : { url, secret },
    conditions: createConditions(looked),
    count,
    log,
    tuning,
  });
}
