import { createHash } from 'node:crypto';
import type { RedisClient } from '#shared/platform/redis.js';
import { sessionKeys } from '#shared/session/keys.js';
import type { SessionState } from '#shared/session/record.js';
import type { SessionStore } from '#shared/session/store.js';
import type { TrailEntry, TrailKind } from '#shared/trail/reasons.js';

/** Chats for pictures and for tests of many: made through the store, then given an age and a state. */
export interface SeedChat {
  project: string;
  state: SessionState;
  /** How long ago its last change was. */
  ageMs: number;
  /** Summary of its killed task, where a notice stands. */
  summary?: string;
  reason?: string;
  /** More lines of its trail, oldest first, so long ago. */
  trail?: { kind: TrailKind; agoMs: number; reason?: string; detail?: Record<string, unknown> }[];
}

export interface SeedParts {
  store: SessionStore;
  redis: RedisClient;
  tag: string;
}

/** A session id that is the same in each run. */
export function seedId(number: number): string {
  const hex = createHash('sha1').update(`chat ${number}`).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

const AT_ONCE = 100;

/** Adds the chats; nothing looks at their transcripts, which do not exist. */
export async function seedChats(parts: SeedParts, chats: readonly SeedChat[]): Promise<void> {
  for (let from = 0; from < chats.length; from += AT_ONCE) {
    const some = chats.slice(from, from + AT_ONCE);
    await Promise.all(some.map((chat, at) => seedChat(parts, seedId(from + at), chat)));
  }
}

async function seedChat({ store, redis, tag }: SeedParts, sessionId: string, chat: SeedChat): Promise<void> {
  const keys = sessionKeys(tag);
  await store.applyEvent({
    deliveryId: `seed-${sessionId}`,
    server: 'default',
    source: 'webhook',
    knownServers: ['default'],
    event: {
      type: 'turn.ended',
      timestamp: Date.now() - chat.ageMs,
      data: { sessionId, project: chat.project, driveMode: 'session', outcome: 'completed', cause: 'human', cwd: '/' },
    },
    arm: { path: `/nowhere/${sessionId}.jsonl`, armed: true, auto: true, reason: 'armed' },
  });
  if (chat.summary !== undefined) {
    const taskId = `b${sessionId.slice(0, 7)}`;
    const tasks = [{ id: taskId, status: 'killed', summary: chat.summary, stamp: '', toolUseId: undefined }];
    const noticeId = sessionId.slice(0, 12);
    await store.noticed(sessionId, { generation: 1, noticeId, noticeKey: noticeId, wakeKey: undefined, tasks });
  }
  const atMs = Date.now() - chat.ageMs;
  await redis
    .multi()
    .zrem(keys.armed, sessionId)
    .hset(keys.session(sessionId), {
      st: chat.state,
      up: atMs,
      at: atMs,
      ...(chat.reason === undefined ? {} : { rs: chat.reason }),
    })
    .zadd(keys.sessions, atMs, sessionId)
    .exec();
  await setAges(redis, keys, sessionId, chat);
}

async function setAges(
  redis: RedisClient,
  keys: ReturnType<typeof sessionKeys>,
  sessionId: string,
  { ageMs, project, trail = [] }: SeedChat,
): Promise<void> {
  const notice = await redis.hget(keys.session(sessionId), 'nt');
  if (notice !== null) {
    const aged = { ...(JSON.parse(notice) as object), seen: Date.now() - ageMs, first: Date.now() - ageMs };
    await redis.hset(keys.session(sessionId), 'nt', JSON.stringify(aged));
  }
  const lines = await redis.lrange(keys.sessionTrail(sessionId), 0, -1);
  const aged = lines.map((line, at) => ({
    ...(JSON.parse(line) as TrailEntry),
    atMs: Date.now() - ageMs - (lines.length - at) * 40_000,
  }));
  const more = trail.map(({ agoMs, ...line }) => ({
    atMs: Date.now() - agoMs,
    sessionId,
    server: 'default',
    project,
    ...line,
  }));
  await redis.del(keys.sessionTrail(sessionId));
  await redis.rpush(keys.sessionTrail(sessionId), ...[...aged, ...more].map((line) => JSON.stringify(line)));
}

/** Lines of the trail's stream in the past, for the charts. Before anything else is in it: ids only ever grow. */
export async function seedTrail(
  redis: RedisClient,
  tag: string,
  lines: readonly { kind: TrailKind; agoMs: number }[],
): Promise<void> {
  const { trail } = sessionKeys(tag);
  const sorted = lines.toSorted((a, b) => b.agoMs - a.agoMs);
  const now = Date.now();
  const pipeline = redis.pipeline();
  for (const [at, { kind, agoMs }] of sorted.entries()) {
    const entry = { atMs: now - agoMs, sessionId: seedId(at), server: 'default', project: 'web', kind };
    pipeline.xadd(trail, `${now - agoMs}-${at}`, 'e', JSON.stringify(entry));
  }
  await pipeline.exec();
}
