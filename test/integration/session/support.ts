import { randomUUID } from 'node:crypto';
import { createSessionStore } from '#shared/session/redis-store.js';
import { lifecycleEventSchema, type LifecycleDelivery } from '#shared/session/events.js';
import type { Delivery, NudgeClaim, SessionStore } from '#shared/session/store.js';
import type { RecoverySettings } from '#shared/settings/recovery.js';
import type { RedisFixture } from '../../support/redis.ts';

export const SERVER = 'default';
export const PROJECT = 'demo';

export function storeOn(redis: RedisFixture, sessionTtlMs = 60_000): SessionStore {
  return createSessionStore({ redis: redis.client, tag: redis.tag, sessionTtlMs, markTtlMs: 60_000 });
}

/** Settings with Layer 3 on, published for the test's project. */
export async function publish(
  store: SessionStore,
  change: Partial<RecoverySettings> = {},
  server = SERVER,
): Promise<void> {
  await store.publishSettings(server, PROJECT, {
    values: {
      surfaceKilledTask: true,
      autoReDrive: true,
      debounceMs: 5_000,
      maxRetries: 1,
      limboTimeoutMs: 0,
      ...change,
    },
    sources: {
      surfaceKilledTask: 'default',
      autoReDrive: 'project',
      debounceMs: 'default',
      maxRetries: 'default',
      limboTimeoutMs: 'default',
    },
  });
}

const NOON = Date.parse('2026-03-01T12:00:00Z');

/** Event time in seconds after noon of the chat server's day. */
export function at(seconds: number): string {
  return new Date(NOON + seconds * 1000).toISOString();
}

/** One chat of one server, as its webhooks tell of it. */
export class Chat {
  readonly id = randomUUID();
  readonly store: SessionStore;
  readonly server: string;

  constructor(store: SessionStore, server = SERVER) {
    this.store = store;
    this.server = server;
  }

  deliver(event: LifecycleDelivery, more: Partial<Delivery> = {}) {
    return this.store.applyEvent({
      deliveryId: randomUUID(),
      server: this.server,
      source: 'webhook',
      event: lifecycleEventSchema.parse(event),
      knownServers: [SERVER, 'other'],
      ...(event.type === 'turn.ended'
        ? { arm: { path: `/transcripts/${this.id}.jsonl`, armed: true, auto: true, reason: 'armed' as const } }
        : {}),
      ...more,
    });
  }

  turnEnded(seconds: number, data: Record<string, unknown> = {}, more: Partial<Delivery> = {}) {
    return this.deliver(
      {
        type: 'turn.ended',
        timestamp: at(seconds),
        data: {
          sessionId: this.id,
          project: PROJECT,
          driveMode: 'session',
          outcome: 'completed',
          cause: 'human',
          transcriptPath: '/x.jsonl',
          ...data,
        },
      },
      more,
    );
  }
  turnStarted(seconds: number, data: Record<string, unknown> = {}, more: Partial<Delivery> = {}) {
    const base = { sessionId: this.id, project: PROJECT, cause: 'wake' as const };
    return this.deliver({ type: 'turn.started', timestamp: at(seconds), data: { ...base, ...data } }, more);
  }
  human(seconds: number, more: Partial<Delivery> = {}) {
    return this.deliver(
      { type: 'message.human', timestamp: at(seconds), data: { sessionId: this.id, project: PROJECT } },
      more,
    );
  }
  taskStopped(seconds: number, taskId: string) {
    const data = { sessionId: this.id, project: PROJECT, taskId, by: 'user' as const };
    return this.deliver({ type: 'task.stopped', timestamp: at(seconds), data });
  }
  closed(seconds: number, reason: 'deleted' | 'ended' | 'crashed' = 'ended', more: Partial<Delivery> = {}) {
    const data = { sessionId: this.id, project: PROJECT, reason };
    return this.deliver({ type: 'session.closed', timestamp: at(seconds), data }, more);
  }

  async record() {
    const record = await this.store.find(this.id);
    if (record === undefined) throw new Error('no record');
    return record;
  }

  async notice(noticeId = 'n1', taskIds = ['b1']) {
    const { generation } = await this.record();
    return this.store.noticed(this.id, {
      generation,
      noticeId,
      noticeKey: `key-${noticeId}`,
      wakeKey: undefined,
      tasks: taskIds.map((id) => ({ id, status: 'killed', summary: 'was stopped', toolUseId: undefined, stamp: '' })),
    });
  }

  async claim(change: Partial<NudgeClaim> = {}) {
    const { generation } = await this.record();
    return this.store.claimNudge({
      sessionId: this.id,
      kind: 'auto',
      noticeId: 'n1',
      generation,
      owner: 'worker-1',
      leaseMs: 10_000,
      nudgesInTranscript: 0,
      humanPromptId: 'human-1',
      humanSinceNudge: true,
      limits: { maxNudgesPerHour: 60, maxConcurrent: 50, slotMs: 60_000 },
      ...change,
    });
  }

  /** Turn ended, killed, claimed: the attempt's reference. */
  async claimed(owner = 'worker-1') {
    await this.turnEnded(0);
    await this.notice();
    const claim = await this.claim({ owner });
    if (!claim.ok) throw new Error(`not claimed: ${claim.reason}`);
    return { sessionId: this.id, attemptId: claim.attemptId, owner };
  }

  /** …and the session API said 202. */
  async nudged() {
    const ref = await this.claimed();
    await this.store.sending(ref, 10_000);
    await this.store.settleNudge(ref, { outcome: 'accepted', detail: undefined, turnId: 't-nudge' });
    return ref;
  }
}
