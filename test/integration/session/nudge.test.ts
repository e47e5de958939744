import { attemptId, manualAttemptId } from '#shared/session/attempt.js';
import { describe, expect, test } from '../../support/redis.ts';
import { sessionKeys } from '#shared/session/keys.js';
import { Chat, PROJECT, SERVER, publish, storeOn } from './support.ts';
import type { RedisFixture } from '../../support/redis.ts';

async function armedChat(redis: RedisFixture, settings = {}): Promise<Chat> {
  const chat = new Chat(storeOn(redis));
  await publish(chat.store, settings);
  await chat.turnEnded(0);
  await chat.notice();
  return chat;
}

/** A chat whose nudge is on its way. */
async function sent(redis: RedisFixture, settings = {}) {
  const chat = new Chat(storeOn(redis));
  await publish(chat.store, settings);
  const ref = await chat.claimed();
  await chat.store.sending(ref, 10_000);
  return { chat, ref };
}

describe('a claim is granted once, under every guard', () => {
  test('it raises the counter before anything is sent, and its id is derived', async ({ redis }) => {
    const chat = await armedChat(redis);
    const claim = await chat.claim();
    const expected = attemptId({
      server: SERVER,
      sessionId: chat.id,
      noticeId: 'n1',
      kind: 'auto',
      try: 1,
      refusals: 0,
    });
    expect(claim).toMatchObject({ ok: true, try: 1, phase: 'claimed', resumed: false, attemptId: expected });
    expect(await chat.record()).toMatchObject({ tries: 1, state: 'nudging' });
  });

  test('a resend of the same claim gives the same attempt and counts once', async ({ redis }) => {
    const chat = await armedChat(redis);
    const first = await chat.claim();
    const again = await chat.claim();
    expect(again).toMatchObject({ ok: true, resumed: true, attemptId: first.attemptId });
    expect((await chat.record()).tries).toBe(1);
  });

  test('R35: of ten workers at once, one gets it', async ({ redis }) => {
    const chat = await armedChat(redis);
    const owners = Array.from({ length: 10 }, (_, index) => `worker-${index}`);
    const claims = await Promise.all(owners.map((owner) => chat.claim({ owner })));
    expect(claims.filter(({ ok }) => ok)).toHaveLength(1);
    expect(claims.filter((claim) => !claim.ok && claim.reason === 'attempt-under-way')).toHaveLength(9);
  });

  test('an expired lease lets another worker go on with the same attempt', async ({ redis }) => {
    const chat = await armedChat(redis);
    const first = await chat.claim({ leaseMs: 0 });
    const second = await chat.claim({ owner: 'worker-2' });
    expect(second).toMatchObject({ ok: true, resumed: true, attemptId: first.attemptId });
  });

  test.for([
    ['auto-off', { autoReDrive: false }],
    ['retries-zero', { maxRetries: 0 }],
  ] as const)('%s by the settings that are in force at that moment', async ([reason, settings], { redis }) => {
    const chat = await armedChat(redis, settings);
    expect(await chat.claim()).toMatchObject({ ok: false, reason });
  });

  test('no settings published: not on a guess', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await chat.turnEnded(0);
    await chat.notice();
    expect(await chat.claim()).toMatchObject({ ok: false, reason: 'settings-unknown' });
  });

  test('the cap holds across hangs until a human message', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await publish(chat.store);
    await chat.nudged();
    await chat.turnEnded(30, { cause: 'recovery' });
    await chat.notice('n2', ['b2']);
    expect(await chat.claim({ noticeId: 'n2' })).toMatchObject({ ok: false, reason: 'cap-reached' });
    await chat.human(40);
    await chat.turnEnded(50);
    await chat.notice('n3', ['b3']);
    expect(await chat.claim({ noticeId: 'n3' })).toMatchObject({ ok: true, try: 1 });
  });

  test('R34: a human prompt in the transcript whose webhook was lost resets the counter too', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await publish(chat.store);
    await chat.nudged();
    await chat.turnEnded(30, { cause: 'recovery' });
    await chat.notice('n2', ['b2']);
    const claim = { noticeId: 'n2', humanPromptId: 'human-2', humanSinceNudge: true };
    expect(await chat.claim({ ...claim, humanPromptId: 'human-1' })).toMatchObject({ reason: 'cap-reached' });
    expect(await chat.claim(claim)).toMatchObject({ ok: true, try: 1 });
  });

  test('R44: a record that began without history counts the nudges in the transcript', async ({ redis }) => {
    const chat = await armedChat(redis);
    expect(await chat.claim({ nudgesInTranscript: 1, humanSinceNudge: false })).toMatchObject({
      ok: false,
      reason: 'cap-reached',
    });
  });

  test('the same hang is not nudged twice by itself, whatever the cap', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await publish(chat.store, { maxRetries: 5 });
    await chat.nudged();
    expect(await chat.claim()).toMatchObject({ ok: false, reason: 'already-nudged' });
  });

  test('work for an older generation is void', async ({ redis }) => {
    const chat = await armedChat(redis);
    await chat.turnStarted(1);
    expect(await chat.claim({ generation: 1 })).toMatchObject({ ok: false, reason: 'superseded' });
  });

  test.for([
    ['an interrupted turn', (chat: Chat) => chat.turnEnded(1, { outcome: 'interrupted' })],
    ['a task that its user stopped', (chat: Chat) => chat.taskStopped(1, 'b1')],
  ] as const)('%s is never nudged automatically', async ([, act], { redis }) => {
    const chat = await armedChat(redis);
    await act(chat);
    await chat.notice();
    expect(await chat.claim()).toMatchObject({ ok: false, reason: 'user-stop' });
  });

  test('a task that the runtime killed beside one that the user stopped still counts', async ({ redis }) => {
    const chat = await armedChat(redis);
    await chat.notice('n2', ['b1', 'b2']);
    await chat.taskStopped(1, 'b1');
    expect(await chat.claim({ noticeId: 'n2' })).toMatchObject({ ok: true });
  });

  test('pause holds automatic nudges, a person’s Continue passes', async ({ redis }) => {
    const chat = await armedChat(redis);
    await chat.store.pause('operator');
    expect(await chat.claim()).toMatchObject({ ok: false, reason: 'paused' });
    expect(await chat.claim({ kind: 'manual' })).toMatchObject({ ok: true });
  });

  test('a manual nudge neither counts nor resets, and has the id that the watcher computed', async ({ redis }) => {
    const chat = await armedChat(redis);
    const expected = manualAttemptId(await chat.record());
    expect(await chat.claim({ kind: 'manual' })).toMatchObject({ ok: true, attemptId: expected });
    expect((await chat.record()).tries).toBeUndefined();
  });

  test('surface off refuses the manual one', async ({ redis }) => {
    const chat = await armedChat(redis, { surfaceKilledTask: false });
    expect(await chat.claim({ kind: 'manual' })).toMatchObject({ ok: false, reason: 'surface-off' });
  });
});

describe('the budget is the instance’s', () => {
  const limits = { maxNudgesPerHour: 60, maxConcurrent: 1, slotMs: 60_000 };

  test('one running nudged turn at most; its end frees the slot', async ({ redis }) => {
    const [first, second] = [await armedChat(redis), await armedChat(redis)];
    expect(await first.claim({ limits })).toMatchObject({ ok: true });
    expect(await second.claim({ limits })).toMatchObject({ ok: false, reason: 'budget-concurrent' });
    await first.turnEnded(9, { cause: 'recovery' });
    expect(await second.claim({ limits })).toMatchObject({ ok: true });
  });

  test('so many an hour; the answer says when the next is free', async ({ redis }) => {
    const [first, second] = [await armedChat(redis), await armedChat(redis)];
    const hourly = { ...limits, maxConcurrent: 0, maxNudgesPerHour: 1 };
    await first.claim({ limits: hourly });
    const now = await first.store.now();
    const held = await second.claim({ limits: hourly });
    expect(held).toMatchObject({ ok: false, reason: 'budget-hour' });
    expect(held.ok || held.retryAtMs).toBeGreaterThan(now + 3_590_000);
  });

  test('0 is no limit', async ({ redis }) => {
    const chats = await Promise.all([armedChat(redis), armedChat(redis), armedChat(redis)]);
    const none = { maxNudgesPerHour: 0, maxConcurrent: 0, slotMs: 60_000 };
    const claims = await Promise.all(chats.map((chat) => chat.claim({ limits: none })));
    expect(claims.every(({ ok }) => ok)).toBe(true);
  });

  test('a refusal gives hour and slot back', async ({ redis }) => {
    const [first, second] = [await armedChat(redis), await armedChat(redis)];
    const tight = { maxNudgesPerHour: 1, maxConcurrent: 1, slotMs: 60_000 };
    const claim = await first.claim({ limits: tight });
    const ref = { sessionId: first.id, attemptId: claim.attemptId ?? '', owner: 'worker-1' };
    await first.store.sending(ref, 10_000);
    await first.store.settleNudge(ref, { outcome: 'refused', detail: 'turn-running' });
    expect(await second.claim({ limits: tight })).toMatchObject({ ok: true });
  });
});

describe('directly before the call everything is checked once more', () => {
  test.for([
    ['superseded', (chat: Chat) => chat.turnStarted(5)],
    ['superseded', (chat: Chat) => chat.human(5)],
    ['paused', (chat: Chat) => chat.store.pause('operator')],
    ['auto-off', (chat: Chat) => publish(chat.store, { autoReDrive: false })],
    ['user-stop', (chat: Chat) => chat.taskStopped(5, 'b1')],
  ] as const)(
    '%s between claim and call: nothing is sent and the retry is given back',
    async ([reason, act], { redis }) => {
      const chat = new Chat(storeOn(redis));
      await publish(chat.store);
      const ref = await chat.claimed();
      await act(chat);
      const answer = await chat.store.sending(ref, 10_000);
      expect(answer.ok).toBe(false);
      if (!answer.ok) expect([reason, 'already-nudged']).toContain(answer.reason);
      expect(await chat.record()).toMatchObject({ tries: 0, attempt: { phase: 'settled', outcome: 'void' } });
    },
  );

  test('R40: a worker whose lease went to another may not call', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await publish(chat.store);
    await chat.turnEnded(0);
    await chat.notice();
    const slow = await chat.claim({ leaseMs: 0, owner: 'slow' });
    await chat.claim({ owner: 'quick' });
    const ref = { sessionId: chat.id, attemptId: slow.attemptId ?? '', owner: 'slow' };
    expect(await chat.store.sending(ref, 10_000)).toEqual({ ok: false, reason: 'attempt-under-way' });
  });

  test('a resend is answered like the first', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await publish(chat.store);
    const ref = await chat.claimed();
    expect(await chat.store.sending(ref, 10_000)).toEqual({ ok: true });
    expect(await chat.store.sending(ref, 10_000)).toEqual({ ok: true });
  });
});

describe('what became of a call is recorded once', () => {
  test('accepted; a second settlement changes nothing', async ({ redis }) => {
    const { chat, ref } = await sent(redis);
    expect(await chat.store.settleNudge(ref, { outcome: 'accepted', detail: undefined, turnId: 't9' })).toMatchObject({
      applied: true,
    });
    expect(await chat.store.settleNudge(ref, { outcome: 'refused', detail: 'turn-running' })).toEqual({
      applied: false,
      outcome: 'accepted',
      pausedItself: false,
      nowMs: expect.any(Number) as number,
    });
    expect(await chat.record()).toMatchObject({ state: 'nudged', tries: 1, attempt: { turnId: 't9' } });
  });

  test('a refusal gives the retry back and the next attempt has a new key', async ({ redis }) => {
    const { chat, ref } = await sent(redis);
    await chat.store.settleNudge(ref, { outcome: 'refused', detail: 'turn-running' });
    expect(await chat.record()).toMatchObject({ tries: 0, refusals: 1, state: 'killed' });
    const next = await chat.claim();
    expect(next).toMatchObject({ ok: true, try: 1 });
    expect(next.attemptId).not.toBe(ref.attemptId);
  });

  test('a refusal after an unknown outcome gives nothing back', async ({ redis }) => {
    const { chat, ref } = await sent(redis);
    await chat.store.releaseLease(ref, { unknown: true, detail: 'timeout' });
    await chat.store.settleNudge(ref, { outcome: 'refused', detail: 'turn-running' });
    expect(await chat.record()).toMatchObject({ tries: 1, refusals: 1 });
  });

  test('a released lease keeps the attempt: the next run sends the same key', async ({ redis }) => {
    const { chat, ref } = await sent(redis);
    await chat.store.releaseLease(ref, { unknown: true, detail: 'timeout' });
    expect(await chat.claim({ owner: 'worker-2' })).toMatchObject({
      ok: true,
      resumed: true,
      phase: 'sending',
      unknownBefore: true,
      attemptId: ref.attemptId,
    });
    expect((await chat.record()).tries).toBe(1);
  });

  test.for([
    ['a late turn start', (chat: Chat) => chat.turnStarted(1, { cause: 'human' })],
    ['a late turn end', (chat: Chat) => chat.turnEnded(1)],
    ['a person’s message that answered nothing', (chat: Chat) => chat.human(1)],
  ] as const)(
    '%s while the outcome is unknown: the same hang goes on with the same key, and counts once',
    async ([, event], { redis }) => {
      const { chat, ref } = await sent(redis);
      await chat.store.releaseLease(ref, { unknown: true, detail: 'ECONNRESET' });
      await event(chat);
      await chat.notice();
      const { generation } = await chat.record();
      const resumed = await chat.claim({ owner: 'worker-2', humanSinceNudge: false });
      expect(resumed).toMatchObject({ ok: true, resumed: true, phase: 'sending', attemptId: ref.attemptId });
      expect(await chat.store.sending({ ...ref, owner: 'worker-2' }, 10_000)).toEqual({ ok: true });
      expect(await chat.record()).toMatchObject({ tries: 1, attempt: { generation, unknownBefore: true } });
    },
  );

  test('another hang after an unknown outcome has an attempt of its own', async ({ redis }) => {
    const { chat, ref } = await sent(redis);
    await chat.store.releaseLease(ref, { unknown: true, detail: 'ECONNRESET' });
    await chat.human(1);
    await chat.turnEnded(2);
    await chat.notice('n2', ['b2']);
    const next = await chat.claim({ noticeId: 'n2' });
    expect(next).toMatchObject({ ok: true, resumed: false, phase: 'claimed' });
    expect(next.attemptId).not.toBe(ref.attemptId);
  });

  test('gone closes the watch', async ({ redis }) => {
    const { chat, ref } = await sent(redis);
    await chat.store.settleNudge(ref, { outcome: 'gone', detail: 'http_404' });
    expect(await chat.record()).toMatchObject({ state: 'closed', armed: false, tries: 0 });
  });

  test('the turn that a nudge started proves that it arrived, though its call never came back', async ({ redis }) => {
    const { chat } = await sent(redis);
    await chat.turnStarted(7, { cause: 'recovery', turnId: 't-n' });
    expect(await chat.record()).toMatchObject({ state: 'nudged', attempt: { outcome: 'accepted', turnId: 't-n' } });
  });

  test.for(['accepted', 'unknown', 'proven'] as const)(
    'a second hang that came up while the first one’s call was under way stands: %s',
    async (how, { redis }) => {
      const { chat, ref } = await sent(redis);
      await chat.notice('n2', ['b2']);
      if (how === 'proven') await chat.turnStarted(7, { cause: 'recovery', turnId: 't-n' });
      else await chat.store.settleNudge(ref, { outcome: how, detail: undefined });
      expect(await chat.record()).toMatchObject({ state: 'killed', attempt: { phase: 'settled' } });
      await redis.client.zadd(sessionKeys(redis.tag).armed, 1, chat.id);
      expect(await chat.store.takeDue(10, 60_000)).toMatchObject([{ state: 'killed', noticeId: 'n2' }]);
    },
  );

  test.for([
    ['starts', 't-nudge', false],
    ['ends', 't-nudge', false],
    ['starts, and says nothing of which turn it is', undefined, false],
    ['starts, and is another one', 't-second', true],
  ] as const)(
    'a turn after a second hang was claimed, %s: the first nudge’s proves nothing of the second',
    async ([what, turnId, proves], { redis }) => {
      const chat = new Chat(storeOn(redis));
      await publish(chat.store, { maxRetries: 2 });
      await chat.nudged();
      await chat.notice('n2', ['b2']);
      const second = await chat.claim({ noticeId: 'n2' });
      if (!second.ok) throw new Error(second.reason);
      await chat.store.sending({ sessionId: chat.id, attemptId: second.attemptId, owner: 'worker-1' }, 10_000);
      // The turn of the first nudge, told of late: by then the second hang's call is under way, or died with its worker.
      const data = { cause: 'recovery', ...(turnId === undefined ? {} : { turnId }) };
      await (what === 'ends' ? chat.turnEnded(7, data) : chat.turnStarted(7, data));
      const { attempt } = await chat.record();
      expect(attempt).toMatchObject({ id: second.attemptId, phase: proves ? 'settled' : 'sending' });
    },
  );

  test('a nudge that its turn proves is told under the id of its hang, not of the webhook', async ({ redis }) => {
    const chat = await armedChat(redis);
    const claim = await chat.claim({ cid: 'of-the-hang' });
    if (!claim.ok) throw new Error(claim.reason);
    await chat.store.sending({ sessionId: chat.id, attemptId: claim.attemptId, owner: 'worker-1' }, 10_000);
    await chat.turnStarted(7, { cause: 'recovery', turnId: 't-n' }, { cid: 'of-the-webhook' });
    const trail = await chat.store.trail(chat.id);
    expect(trail.find(({ kind }) => kind === 'nudged')?.detail).toMatchObject({ cid: 'of-the-hang' });
    expect(trail.find(({ kind }) => kind === 'turn-started')?.detail).toMatchObject({ cid: 'of-the-webhook' });
  });

  test('a reply makes it recovered, and the ids stay answered', async ({ redis }) => {
    const { chat, ref } = await sent(redis);
    await chat.store.settleNudge(ref, { outcome: 'accepted', detail: undefined });
    const { generation } = await chat.record();
    const cleared = { generation, answeredTaskIds: ['b1'], replied: true, nudgeSeen: true };
    expect(await chat.store.cleared(chat.id, cleared)).toBe('recovered');
    expect(await chat.store.cleared(chat.id, cleared)).toBe('nothing');
    expect(await chat.record()).toMatchObject({ state: 'recovered', notice: undefined, answeredTaskIds: ['b1'] });
    await chat.turnEnded(30, { cause: 'recovery' });
    expect((await chat.record()).state).toBe('recovered');
    await chat.turnEnded(60, { cause: 'wake' });
    expect((await chat.record()).state).toBe('watching');
  });

  test('a reply without the nudge in the transcript is no proof that a call under way arrived', async ({ redis }) => {
    const { chat, ref } = await sent(redis);
    const { generation } = await chat.record();
    const cleared = { generation, answeredTaskIds: ['b1'], replied: true, nudgeSeen: false };
    expect(await chat.store.cleared(chat.id, cleared)).toBe('cleared');
    await chat.store.settleNudge(ref, { outcome: 'refused', detail: 'turn-running' });
    expect(await chat.record()).toMatchObject({ tries: 0, attempt: { outcome: 'refused' } });
  });

  test('R33: no entry after an accepted nudge is shown as unconfirmed, once', async ({ redis }) => {
    const { chat, ref } = await sent(redis);
    await chat.store.settleNudge(ref, { outcome: 'accepted', detail: undefined });
    expect(await chat.store.unconfirmed(chat.id, ref.attemptId)).toBe(true);
    expect(await chat.store.unconfirmed(chat.id, ref.attemptId)).toBe(false);
    expect(await chat.record()).toMatchObject({ state: 'unconfirmed', stateReason: 'no-effect' });
    expect(await chat.claim()).toMatchObject({ ok: false, reason: 'already-nudged' });
  });

  test('five nudges in a row without effect: recovery pauses itself, resuming starts the count anew', async ({
    redis,
  }) => {
    const store = storeOn(redis);
    const settleUnknown = async () => {
      const chat = new Chat(store);
      const ref = await chat.claimed();
      await store.sending(ref, 10_000);
      return store.settleNudge(ref, { outcome: 'unknown', detail: 'timeout' });
    };
    await publish(store);
    for (let index = 1; index <= 4; index += 1) expect((await settleUnknown()).pausedItself).toBe(false);
    expect((await settleUnknown()).pausedItself).toBe(true);
    expect(await store.paused()).toMatchObject({ paused: true, by: 'itself' });
    await store.resume('operator');
    expect(await store.paused()).toMatchObject({ paused: false });
    expect((await settleUnknown()).pausedItself).toBe(false);
  });
});

describe('notices', () => {
  test('first seen is kept, a newer notification counts anew', async ({ redis }) => {
    const chat = await armedChat(redis);
    const first = await chat.notice();
    const again = await chat.notice();
    expect(again).toMatchObject({ isNew: false, noticeSeenMs: first?.noticeSeenMs });
    const joined = await chat.notice('n2', ['b1', 'b2']);
    expect(joined).toMatchObject({ isNew: true });
  });

  test('R29: the host slept: it counts from now, once per notice', async ({ redis }) => {
    const chat = await armedChat(redis);
    expect(await chat.store.restartDebounce(chat.id, 'n1')).toBe(true);
    expect(await chat.store.restartDebounce(chat.id, 'n1')).toBe(false);
  });

  test('a notice of another generation, or of a session that is not armed, is not taken', async ({ redis }) => {
    const chat = await armedChat(redis);
    const { generation } = await chat.record();
    await chat.turnStarted(3);
    const stale = { generation, noticeId: 'n9', noticeKey: 'k9', wakeKey: undefined, tasks: [] };
    expect(await chat.store.noticed(chat.id, stale)).toBeUndefined();
    await chat.store.endWatch(chat.id, 'watch-ended');
    expect(await chat.notice('n9')).toBeUndefined();
  });

  test('one trail tells it in order', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await publish(chat.store);
    await chat.nudged();
    const { generation } = await chat.record();
    await chat.store.cleared(chat.id, { generation, answeredTaskIds: ['b1'], replied: true, nudgeSeen: true });
    const kinds = (await chat.store.trail(chat.id)).map(({ kind }) => kind);
    expect(kinds).toEqual(['turn-ended', 'killed-task', 'claimed', 'sending', 'nudged', 'recovered']);
    expect(await chat.store.list({ limit: 10, project: PROJECT })).toMatchObject({
      sessions: [{ state: 'recovered' }],
    });
  });
});

describe('the armed index', () => {
  test('a due session is taken by one watcher, and a new turn end outdoes its old time', async ({ redis }) => {
    const chat = await armedChat(redis);
    expect(await chat.store.takeDue(10, 60_000)).toEqual([]);
    await chat.store.reschedule([{ sessionId: chat.id, generation: 1, atMs: 1 }]);
    const [mine, theirs] = await Promise.all([chat.store.takeDue(10, 60_000), chat.store.takeDue(10, 60_000)]);
    expect([...mine, ...theirs]).toHaveLength(1);
    expect([...mine, ...theirs][0]).toMatchObject({
      sessionId: chat.id,
      generation: 1,
      noticeId: 'n1',
      state: 'killed',
    });
    await chat.turnEnded(60);
    await chat.store.reschedule([{ sessionId: chat.id, generation: 1, atMs: 1 }]);
    expect(await chat.store.takeDue(10, 60_000)).toEqual([]);
  });

  test('R44: every key of a session expires', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await publish(chat.store);
    await chat.nudged();
    await chat.store.note(chat.id, { kind: 'would-nudge' }, 'once');
    const keys = await redis.client.keys(`{${redis.tag}}*`);
    const ttls = await Promise.all(keys.map(async (key) => [key, await redis.client.pttl(key)] as const));
    expect(ttls.filter(([, ttl]) => ttl < 0)).toEqual([]);
    expect(keys.length).toBeGreaterThan(8);
  });
});
