import { Problem } from '#shared/platform/problem.js';
import { onReconnected } from '#shared/platform/redis.js';
import type { EffectiveSettings } from '#shared/settings/recovery.js';
import type { TrailEntry } from '#shared/trail/reasons.js';
import { list, parseNotice, parseRecord, readPath, storedPath, type RawRecord } from './codec.ts';
import type { LifecycleEvent } from './events.ts';
import { sessionKeys, settingsField, type SessionKeys } from './keys.ts';
import { lostTurnEnds } from './lost-turn-ends.ts';
import type { SessionState } from './record.ts';
import { FIRST_STEP_MS } from './steps.ts';
import { defineScripts, type RedisClient, type Scripts } from './scripts.ts';
import type {
  ClaimResult,
  Delivery,
  DeliveryResult,
  DueSession,
  EvaluationContext,
  NoticedResult,
  PauseState,
  SessionStore,
  SettleResult,
} from './store.ts';

/** A published setting is written again after this long at most, so that it cannot expire under a busy watcher. */
const REPUBLISH_MS = 60_000;

export interface StoreOptions {
  redis: RedisClient;
  /** Hash tag of every key. */
  tag: string;
  sessionTtlMs: number;
  /** How long a delivery's mark is kept: at least the signature's tolerance on both sides. */
  markTtlMs: number;
}

/** The {@link SessionStore} on Redis. Defines its scripts on the client; opens and closes nothing. */
export function createSessionStore(options: StoreOptions): SessionStore {
  const keys = sessionKeys(options.tag);
  const scripts = defineScripts(options.redis, keys, options.sessionTtlMs);
  const asked = queries(scripts, keys, options);
  return {
    ...changes(scripts, keys, options),
    ...asked,
    ...instance(scripts, keys, options),
    ...lostTurnEnds({ redis: options.redis, scripts, keys, find: asked.find }),
  };
}

type Changes = Pick<
  SessionStore,
  | 'applyEvent'
  | 'noticed'
  | 'restartDebounce'
  | 'cleared'
  | 'claimNudge'
  | 'sending'
  | 'releaseLease'
  | 'settleNudge'
  | 'unconfirmed'
  | 'show'
  | 'note'
  | 'endWatch'
>;

function changes(scripts: Scripts, keys: SessionKeys, options: StoreOptions): Changes {
  return {
    async applyEvent(delivery) {
      const sessionId = delivery.event.data.sessionId;
      const mark = keys.mark(delivery.server, delivery.deliveryId);
      const answer = await scripts.run<DeliveryResult | { outcome: 'newer-record' }>(
        'applyEvent',
        { sessionId, mark },
        { ...eventArguments(delivery), markTtl: options.markTtlMs },
      );
      if (answer.outcome === 'newer-record') throw newerRecord();
      return { ...answer, step: answer.step };
    },

    async noticed(sessionId, finding) {
      const answer = await scripts.run<RawNoticed | false>('noticed', { sessionId }, { ...finding });
      return answer === false ? undefined : noticedResult(answer);
    },
    restartDebounce: (sessionId, noticeId) => scripts.run<boolean>('restartDebounce', { sessionId }, { noticeId }),
    cleared: (sessionId, { answeredTaskIds, ...cleared }) =>
      scripts.run('cleared', { sessionId }, { ...cleared, answered: answeredTaskIds }),

    async claimNudge({ sessionId, ...claim }) {
      const answer = await scripts.run<ClaimResult>('claimNudge', { sessionId }, claim);
      return answer.ok ? answer : { ...answer, retryAtMs: answer.retryAtMs, attemptId: answer.attemptId };
    },
    sending: ({ sessionId, attemptId, owner }, leaseMs) =>
      scripts.run('sending', { sessionId }, { attemptId, owner, leaseMs }),
    settleNudge: ({ sessionId, attemptId }, settlement) =>
      scripts.run<SettleResult>('settleNudge', { sessionId }, { attemptId, ...settlement }),
    async releaseLease({ sessionId, attemptId, owner }, failure) {
      await scripts.run('releaseLease', { sessionId }, { attemptId, owner, ...failure });
    },
    unconfirmed: (sessionId, attemptId) => scripts.run<boolean>('unconfirmed', { sessionId }, { attemptId }),
    show: (sessionId, shown) => scripts.run<boolean>('show', { sessionId }, { ...shown }),
    note: (sessionId, entry, once) => scripts.run<boolean>('note', { sessionId }, { ...entry, once }),
    endWatch: (sessionId, reason) => scripts.run<boolean>('endWatch', { sessionId }, { reason }),
  };
}

/** The event, flattened for the script. */
function eventArguments(delivery: Delivery): Record<string, unknown> {
  const { event, arm } = delivery;
  return {
    server: delivery.server,
    cid: delivery.cid,
    source: delivery.source,
    known: delivery.knownServers,
    type: event.type,
    ts: event.timestamp,
    project: event.data.project,
    arm: arm === undefined ? undefined : { ...arm, path: storedPath(event.data.sessionId, arm.path) },
    firstStepMs: FIRST_STEP_MS,
    ...typeArguments(event),
  };
}

function typeArguments(event: LifecycleEvent): Record<string, unknown> {
  switch (event.type) {
    case 'turn.ended': {
      const { cause, outcome, turnId, backgroundTasks } = event.data;
      return { cause, outcome, turnId, tasks: backgroundTasks?.length };
    }
    case 'turn.started':
      return { cause: event.data.cause, turnId: event.data.turnId };
    case 'message.human':
      return { turnId: event.data.turnId };
    case 'task.stopped':
      return { taskId: event.data.taskId };
    case 'session.closed':
      return { closeReason: event.data.reason };
  }
}

interface RawNoticed {
  now: number;
  generation: number;
  seen: number;
  wakeSeen?: number;
  first: number;
  isNew: boolean;
  nudged: boolean;
}

function noticedResult(raw: RawNoticed): NoticedResult {
  return {
    nowMs: raw.now,
    generation: raw.generation,
    noticeSeenMs: raw.seen,
    wakeSeenMs: raw.wakeSeen,
    firstSeenMs: raw.first,
    isNew: raw.isNew,
    nudged: raw.nudged,
  };
}

type Queries = Pick<
  SessionStore,
  'find' | 'list' | 'trail' | 'context' | 'takeDue' | 'reschedule' | 'armedSessions' | 'armedCount' | 'now'
>;

function queries(scripts: Scripts, keys: SessionKeys, { redis }: StoreOptions): Queries {
  const find = async (sessionId: string) => parseRecord(sessionId, await redis.hgetall(keys.session(sessionId)));

  return {
    find,

    async list({ limit, cursor, ...filter }) {
      const from = cursor === undefined ? 0 : Number(cursor);
      const sessions = [];
      let position = from;
      while (sessions.length < limit) {
        const ids = await redis.zrevrange(keys.sessions, position, position + limit - 1);
        if (ids.length === 0) return { sessions, next: undefined };
        const records = await Promise.all(ids.map(find));
        for (const record of records) {
          position += 1;
          if (record === undefined || !matches(record, filter)) continue;
          sessions.push(record);
          if (sessions.length === limit) break;
        }
      }
      return { sessions, next: String(position) };
    },

    async trail(sessionId) {
      const lines = await redis.lrange(keys.sessionTrail(sessionId), 0, -1);
      return lines.map((line) => JSON.parse(line) as TrailEntry);
    },

    async context(sessionId) {
      const raw = await scripts.run<RawContext>('context', { sessionId }, {});
      return parseContext(sessionId, raw);
    },

    async takeDue(limit, holdMs, overdueMs = 0) {
      const raw = await scripts.run<RawDue[]>(
        'takeDue',
        { sessionId: '' },
        { limit, holdMs, overdueMs, prefix: keys.sessionPrefix },
      );
      return list(raw).map(dueSession);
    },
    async reschedule(entries) {
      if (entries.length === 0) return;
      const rows = entries.map(({ sessionId, generation, atMs }) => ({ id: sessionId, generation, atMs }));
      await scripts.run('reschedule', { sessionId: '' }, { entries: rows, prefix: keys.sessionPrefix });
    },

    async armedSessions(cursor, limit) {
      const from = cursor === undefined ? 0 : Number(cursor);
      const ids = await redis.zrange(keys.armed, String(from), String(from + limit - 1));
      const raw = await Promise.all(
        ids.map(async (id) => ({ id, ...(await redis.hgetall(keys.session(id))) }) as RawDue & { arm?: string }),
      );
      const sessions = raw.filter((row) => row.arm === '1').map(dueSession);
      return { sessions, next: ids.length < limit ? undefined : String(from + limit) };
    },

    armedCount: () => redis.zcard(keys.armed),

    now: () => scripts.run<number>('now', { sessionId: '' }, {}),
  };
}

function matches(
  record: { server: string; project: string; state: SessionState },
  filter: { server?: string; project?: string; state?: SessionState },
): boolean {
  return (
    (filter.server === undefined || record.server === filter.server) &&
    (filter.project === undefined || record.project === filter.project) &&
    (filter.state === undefined || record.state === filter.state)
  );
}

interface RawContext {
  now: number;
  rec?: RawRecord;
  settings?: EffectiveSettings;
  pause?: RawPause;
}
interface RawPause {
  by: string;
  since?: string;
}

function parseContext(sessionId: string, raw: RawContext): EvaluationContext {
  return {
    nowMs: raw.now,
    record: raw.rec === undefined ? undefined : parseRecord(sessionId, raw.rec),
    settings: raw.settings,
    pause: pauseState(raw.pause?.by, raw.pause?.since),
  };
}

function pauseState(by: string | undefined, since: string | undefined): PauseState {
  return { paused: by !== undefined, by, sinceMs: since === undefined ? undefined : Number(since) };
}

interface RawDue {
  id: string;
  srv: string;
  prj: string;
  path: string;
  gen: string;
  at: string;
  nt?: string;
  st: string;
}

function dueSession(raw: RawDue): DueSession {
  const notice = parseNotice(raw.nt);
  return {
    sessionId: raw.id,
    server: raw.srv,
    project: raw.prj,
    path: readPath(raw.id, raw.path),
    generation: Number(raw.gen),
    armedMs: Number(raw.at),
    noticeId: notice?.id,
    noticeSeenMs: notice?.seenMs,
    state: raw.st as SessionState,
  };
}

type Instance = Pick<SessionStore, 'pause' | 'resume' | 'paused' | 'publishSettings'>;

function instance(scripts: Scripts, keys: SessionKeys, { redis, sessionTtlMs }: StoreOptions): Instance {
  const published = new Map<string, { settings: EffectiveSettings; json: string; atMs: number }>();
  const republishMs = Math.min(REPUBLISH_MS, sessionTtlMs / 2);
  // Another server may stand behind the new connection.
  onReconnected(redis, () => published.clear());
  return {
    async pause(by) {
      await scripts.run('setPause', { sessionId: '' }, { paused: true, by });
    },
    async resume(by) {
      await scripts.run('setPause', { sessionId: '' }, { paused: false, by });
    },
    async paused() {
      const [by, since] = await redis.hmget(keys.pause, 'by', 'since');
      return pauseState(by ?? undefined, since ?? undefined);
    },
    async publishSettings(server, project, settings) {
      const field = settingsField(server, project);
      const before = published.get(field);
      // Monotonic: a stepped wall clock must not keep a setting from being written again.
      const atMs = performance.now();
      const isFresh = before !== undefined && atMs - before.atMs < republishMs;
      if (isFresh && before.settings === settings) return;
      const json = JSON.stringify({ values: settings.values, sources: settings.sources });
      if (isFresh && before.json === json) return;
      await redis.hset(keys.settings, field, json);
      await redis.pexpire(keys.settings, sessionTtlMs);
      published.set(field, { settings, json, atMs });
    },
  };
}

function newerRecord(): Problem {
  return new Problem({
    status: 503,
    code: 'record_newer',
    detail: 'The session record was written by a newer version of chat-recovery; this watcher leaves it alone.',
    retryAfterS: 5,
  });
}
