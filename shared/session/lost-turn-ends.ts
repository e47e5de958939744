import type { RedisClient } from '#shared/platform/redis.js';
import { storedPath } from './codec.ts';
import type { SessionKeys } from './keys.ts';
import { RECORD_VERSION, type SessionRecord } from './record.ts';
import type { Scripts } from './scripts.ts';
import { FIRST_STEP_MS } from './steps.ts';
import type { SessionStore, UnwatchedSession } from './store.ts';

interface Rearmed {
  generation: number;
  auto: boolean;
  dueMs: number;
  nowMs: number;
}

export interface LostTurnEndsOptions {
  redis: RedisClient;
  scripts: Scripts;
  keys: SessionKeys;
  find: SessionStore['find'];
}

/** Sessions whose turn end is lost: how they are found, and how they are armed all the same. */
export function lostTurnEnds({
  redis,
  scripts,
  keys,
  find,
}: LostTurnEndsOptions): Pick<SessionStore, 'unwatched' | 'rearm'> {
  return {
    async unwatched({ sinceMs, beforeMs, all }, cursor, limit) {
      const nowMs = await scripts.run<number>('now', { sessionId: '' }, {});
      const from = cursor === undefined ? 0 : Number(cursor);
      const [oldest, newest] = [nowMs - sinceMs, nowMs - beforeMs];
      const ids = await redis.zrangebyscore(all ? keys.sessions : keys.unwatched, oldest, newest, 'LIMIT', from, limit);
      const records = await Promise.all(ids.map(find));
      const sessions = records
        .filter(isUnwatched)
        .filter(({ updatedMs }) => updatedMs <= newest)
        .map((record) => unwatchedSession(record, nowMs));
      return { sessions, next: ids.length < limit ? undefined : String(from + limit) };
    },

    async rearm(sessionId, watch) {
      const path = storedPath(sessionId, watch.path);
      const answer = await scripts.run<Rearmed | false>(
        'rearm',
        { sessionId },
        { ...watch, path, firstStepMs: FIRST_STEP_MS },
      );
      return answer === false ? undefined : answer;
    },
  };
}

function isUnwatched(record: SessionRecord | undefined): record is SessionRecord {
  if (record === undefined || record.version > RECORD_VERSION || record.armed || record.released) return false;
  if (record.state === 'closed' || record.state === 'failed' || record.autoReason === 'batch-mode') return false;
  return record.lastEventType === 'turn.started' || record.lastEventType === 'message.human';
}

function unwatchedSession(record: SessionRecord, nowMs: number): UnwatchedSession {
  const { sessionId, server, project, path, generation, updatedMs } = record;
  return { sessionId, server, project, path, generation, silentMs: nowMs - updatedMs };
}
