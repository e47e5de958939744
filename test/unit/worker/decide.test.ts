import { describe, expect, test } from 'vitest';
import {
  decideClaim,
  decideHung,
  decideStatus,
  deferredTooLong,
  voidReason,
  type HungChat,
} from '../../../services/recovery-worker/decide.ts';
import type { SessionRecord } from '#shared/session/record.js';

const NOW = 1_800_000_000_000;

function record(change: Partial<SessionRecord> = {}): SessionRecord {
  return {
    version: 1,
    sessionId: 'a0000000-0000-4000-8000-00000000000a',
    server: 'default',
    source: 'webhook',
    project: 'demo',
    path: '/t.jsonl',
    generation: 3,
    state: 'killed',
    stateReason: undefined,
    armed: true,
    auto: true,
    autoReason: undefined,
    armedMs: NOW - 60_000,
    updatedMs: NOW,
    lastEventMs: NOW,
    lastEventType: 'turn.ended',
    released: false,
    turnEndedEventMs: NOW,
    running: false,
    otherStartsEventMs: [],
    notice: {
      id: 'n1',
      key: 'k1',
      seenMs: NOW - 5_000,
      firstSeenMs: NOW - 5_000,
      wakeKey: undefined,
      wakeSeenMs: undefined,
      tasks: [{ id: 'b1', status: 'killed', summary: '', toolUseId: undefined, stamp: '' }],
      restarted: false,
    },
    tries: 0,
    refusals: 0,
    manuals: 0,
    humanAtNudge: undefined,
    userStopped: false,
    stoppedTaskIds: [],
    answeredTaskIds: [],
    attempt: undefined,
    backgroundTasks: 0,
    ...change,
  };
}

function chat(change: Partial<HungChat> = {}): HungChat {
  return {
    nowMs: NOW,
    record: record(),
    settings: { surfaceKilledTask: true, autoReDrive: true, debounceMs: 5_000, maxRetries: 1, limboTimeoutMs: 0 },
    pause: { paused: false, by: undefined, sinceMs: undefined },
    why: 'notice',
    noticeFirstSeenMs: NOW - 5_000,
    maxNoticeAgeMs: 60_000,
    settleLeftMs: 0,
    ...change,
  };
}

const refused = record({
  attempt: {
    id: 'a1',
    kind: 'auto',
    noticeId: 'n1',
    generation: 3,
    try: 1,
    phase: 'settled',
    outcome: 'failed',
    detail: 'http_401',
    owner: undefined,
    leaseUntilMs: 0,
    unknownBefore: false,
    claimedMs: NOW,
    sentMs: NOW,
    settledMs: NOW,
    turnId: undefined,
    cid: undefined,
  },
});

describe('before anybody is asked', () => {
  test('nothing against it: act', () => {
    expect(decideHung(chat())).toEqual({ do: 'act' });
  });

  test.for<[string, Partial<HungChat>]>([
    ['auto-off', { settings: { ...chat().settings, autoReDrive: false } }],
    ['retries-zero', { settings: { ...chat().settings, maxRetries: 0 } }],
    ['user-stop', { record: record({ userStopped: true }) }],
    ['user-stop', { record: record({ stoppedTaskIds: ['b1'] }) }],
    ['drive-mode-unknown', { record: record({ autoReason: 'turn-end-lost', auto: false }) }],
    ['found-hung', { record: record({ autoReason: 'found-hung', auto: false }) }],
    ['notice-too-old', { noticeFirstSeenMs: NOW - 60_001 }],
    ['api-refused', { record: refused }],
  ])('%s ends it', ([reason, change]) => {
    expect(decideHung(chat(change))).toEqual({ do: 'end', reason });
  });

  test('a notice exactly as old as the limit is still nudged', () => {
    expect(decideHung(chat({ noticeFirstSeenMs: NOW - 60_000 }))).toEqual({ do: 'act' });
  });

  test.for(['turn-end', 'sweep', 'settings', 'start'] as const)(
    'what the session API refused for good is tried again at a backstop step (%s)',
    (why) => {
      expect(decideHung(chat({ record: refused, why }))).toEqual({ do: 'act' });
    },
  );

  test.for<[string, Partial<SessionRecord>]>([
    [
      'a turn end that was lost once, with one since that says session mode',
      { autoReason: 'turn-end-lost', auto: true },
    ],
    ['a chat found hung, with a turn end since', { autoReason: 'found-hung', auto: true }],
    [
      'a watch that was armed without Layer 3, which was switched on since',
      { autoReason: 'surface-only', auto: false },
    ],
    ['no task at all to have been stopped', { notice: { ...record().notice!, tasks: [] } }],
    ['a record whose notice is not there yet', { notice: undefined }],
  ])('%s: act', ([, change]) => {
    expect(decideHung(chat({ record: record(change) }))).toEqual({ do: 'act' });
  });

  test.for(['accepted', 'unknown', 'refused', 'void'] as const)(
    'an attempt that ended %s is no refusal for good',
    (outcome) => {
      const settled = record({ attempt: { ...refused.attempt!, outcome } });
      expect(decideHung(chat({ record: settled }))).toEqual({ do: 'act' });
    },
  );

  test('a refusal with no notice standing belongs to no hang', () => {
    expect(decideHung(chat({ record: record({ ...refused, notice: undefined }) }))).toEqual({ do: 'act' });
  });

  test('a refusal of another hang does not count against this one', () => {
    const other = record({ ...refused, notice: { ...record().notice!, id: 'n2' } });
    expect(decideHung(chat({ record: other }))).toEqual({ do: 'act' });
  });

  test('a pause waits without counting toward the deferral bound, and says whose it is', () => {
    const pause = { paused: true, by: 'operator', sinceMs: NOW };
    expect(decideHung(chat({ pause }))).toEqual({ do: 'wait', reason: 'paused', atMs: NOW + 5_000, counts: false });
    expect(decideHung(chat({ pause: { ...pause, by: 'itself' } }))).toMatchObject({ reason: 'paused-itself' });
  });

  test('a worker that has just started lets things settle', () => {
    expect(decideHung(chat({ settleLeftMs: 700 }))).toEqual({
      do: 'wait',
      reason: 'settling',
      atMs: NOW + 700,
      counts: false,
    });
  });

  test('a user’s stop of one task leaves the others', () => {
    const { notice } = record();
    const two = { ...notice!, tasks: [...notice!.tasks, { ...notice!.tasks[0]!, id: 'b2' }] };
    expect(decideHung(chat({ record: record({ stoppedTaskIds: ['b1'], notice: two }) }))).toEqual({ do: 'act' });
  });
});

describe('both views must agree', () => {
  const status = { state: 'idle', queuedFollowUp: false, project: undefined, transcriptPath: undefined } as const;

  test('idle with nothing queued: act', () => expect(decideStatus(status, NOW)).toEqual({ do: 'act' }));

  test.for([
    ['turn-running', { ...status, state: 'running' }],
    ['process-alive', { ...status, state: 'running', busyCode: 'process_alive' }],
    ['waiting', { ...status, state: 'waiting' }],
    ['queued-follow-up', { ...status, queuedFollowUp: true }],
  ] as const)('%s: again in a second, and it counts', ([reason, answer]) => {
    expect(decideStatus(answer, NOW)).toEqual({ do: 'wait', reason, atMs: NOW + 1_000, counts: true });
  });

  test('a session that is gone or closed ends the watch', () => {
    expect(decideStatus(undefined, NOW)).toEqual({ do: 'end', reason: 'session-gone' });
    expect(decideStatus({ ...status, state: 'closed' }, NOW)).toEqual({ do: 'end', reason: 'session-closed' });
  });

  test('the deferral is bounded at 30 s from the first', () => {
    expect(deferredTooLong(undefined, NOW)).toBe(false);
    expect(deferredTooLong(NOW - 29_999, NOW)).toBe(false);
    expect(deferredTooLong(NOW - 30_000, NOW)).toBe(true);
  });
});

describe('a claim that was not granted', () => {
  test('the cap is shown as exhausted', () => {
    expect(decideClaim('cap-reached', NOW, undefined)).toEqual({ do: 'end', reason: 'cap-reached', show: 'exhausted' });
  });

  test.for([
    ['paused', undefined, NOW + 5_000],
    ['paused-itself', undefined, NOW + 5_000],
    ['newer-record', undefined, NOW + 5_000],
    ['budget-concurrent', undefined, NOW + 1_000],
    ['budget-hour', NOW + 3_000, NOW + 3_000],
    ['budget-hour', NOW + 3_600_000, NOW + 60_000],
    ['budget-hour', undefined, NOW + 60_000],
    ['attempt-under-way', NOW + 4_000, NOW + 4_000],
    ['attempt-under-way', NOW - 1, NOW + 1],
    ['attempt-under-way', undefined, NOW + 1_000],
  ] as const)('%s (free at %s) waits and does not count', ([reason, retryAtMs, atMs]) => {
    expect(decideClaim(reason, NOW, retryAtMs)).toEqual({ do: 'wait', reason, atMs, counts: false });
  });

  test('a transcript that changed meanwhile is read again soon, and that counts', () => {
    const again = { do: 'wait', reason: 'transcript-changed', atMs: NOW + 250, counts: true };
    expect(decideClaim('transcript-changed', NOW, undefined)).toEqual(again);
  });

  test('anything else ends it', () => {
    expect(decideClaim('superseded', NOW, undefined)).toEqual({ do: 'end', reason: 'superseded' });
  });
});

describe('work that has become void', () => {
  const context = (change?: Partial<SessionRecord>) => ({
    nowMs: NOW,
    record: change === undefined ? undefined : record(change),
    settings: undefined,
    pause: { paused: false, by: undefined, sinceMs: undefined },
  });

  test('the job of the session as it stands is not void', () => {
    expect(voidReason(context({}), 3, 86_400_000)).toBeUndefined();
  });
  test('a watch exactly as old as the limit, or of unknown age, is not void', () => {
    expect(voidReason(context({ armedMs: NOW - 86_400_000 }), 3, 86_400_000)).toBeUndefined();
    expect(voidReason(context({ armedMs: undefined }), 3, 86_400_000)).toBeUndefined();
  });
  test.for<[string, Partial<SessionRecord> | undefined]>([
    ['session-unknown', undefined],
    ['session-closed', { state: 'closed' }],
    ['superseded', { armed: false }],
    ['superseded', { generation: 4 }],
    ['work-too-old', { armedMs: NOW - 86_400_001 }],
  ])('%s', ([reason, change]) => {
    expect(voidReason(context(change), 3, 86_400_000)).toBe(reason);
  });
});
