import { checkRedis } from '#shared/platform/redis-check.js';
import type { RedisClient } from '#shared/platform/redis.js';
import type { QueueState } from '#shared/queue/pulse.js';
import { note, ok, wrong, type Finding } from './finding.ts';

const CLOCK_LIMIT_MS = 1_000;

/** Version, eviction, persistence. What only widens a window of a second or two is a note. */
export async function checkRedisSettings(client: RedisClient): Promise<Finding[]> {
  const warnings = await checkRedis(client);
  if (warnings.length === 0)
    return [ok('redis', 'Reachable, recent enough, evicts nothing, keeps what it has accepted.')];
  return warnings.map((warning) => {
    const [what = warning, todo = ''] = warning.split(/; (.*)/s);
    const doing = todo === '' ? 'Use a later Redis or Valkey.' : `${todo.charAt(0).toUpperCase()}${todo.slice(1)}`;
    return what.startsWith('appendfsync')
      ? note('redis', `${what}.`, doing)
      : wrong('redis', `${what.replace(/\.$/, '')}.`, doing);
  });
}

/** Webhooks carry the senders' stamps and everything else is Redis time, so a clock that is off confuses people at least. */
export async function checkClock(redisNow: () => Promise<number>): Promise<Finding> {
  const beforeMs = Date.now();
  const nowMs = await redisNow();
  const offMs = Math.round(nowMs - (beforeMs + Date.now()) / 2);
  if (Math.abs(offMs) <= CLOCK_LIMIT_MS) return ok('clock', `Within ${CLOCK_LIMIT_MS} ms of that of Redis.`);
  const which = offMs > 0 ? 'behind' : 'ahead of';
  return wrong(
    'clock',
    `This machine is ${Math.abs(offMs)} ms ${which} Redis.`,
    'Synchronise both (chrony, systemd-timesyncd).',
  );
}

const OVERDUE_LIMIT_MS = 30_000;

export function judgeQueue(state: QueueState): Finding[] {
  const { workers, overdue, overdueMs, waiting, paused } = state;
  return [
    workers.length > 0
      ? ok('workers', `${workers.length} alive.`)
      : wrong('workers', 'None is alive: nothing is evaluated.', 'Start one: npm run start:worker.'),
    overdue > 0 && overdueMs > OVERDUE_LIMIT_MS
      ? wrong(
          'queue',
          `${overdue} jobs are overdue, the oldest by ${Math.round(overdueMs / 1_000)} s.`,
          'Restart the workers, or raise WORKER_REPLICAS.',
        )
      : ok('queue', `${waiting} waiting, ${overdue} overdue.`),
    ...(paused ? [wrong('queue', 'It was paused on its board: no job is taken.', 'Resume it on the board.')] : []),
  ];
}

export function judgePause(pause: { paused: boolean; by?: string | undefined }): Finding {
  if (!pause.paused) return ok('pause', 'Automatic recovery is on its way wherever it is allowed.');
  return note(
    'pause',
    `Automatic recovery is paused by ${pause.by ?? 'somebody'}.`,
    'Resume on the page, or POST /v1/resume.',
  );
}

const DAY_MS = 86_400_000;

/** @param newestMs last change of any session, Redis time; `undefined`: none is known */
export function judgeDeliveries(newestMs: number | undefined, nowMs: number): Finding {
  if (newestMs === undefined) {
    return note(
      'webhooks',
      'No session is known: no delivery was ever taken, or all are long over.',
      'Let the chat server send its webhooks to /v1/events (docs/webhooks.md).',
    );
  }
  const hours = Math.floor((nowMs - newestMs) / 3_600_000);
  if (nowMs - newestMs <= DAY_MS)
    return ok(
      'webhooks',
      hours === 0 ? 'A session changed within the last hour.' : `A session changed ${hours} h ago.`,
    );
  return note(
    'webhooks',
    `No session has changed for ${hours} h.`,
    'If there were chats meanwhile: is the chat server sending, and is it answered 2xx?',
  );
}
