import { describe, expect, test } from '../../support/redis.ts';
import { sessionKeys } from '#shared/session/keys.js';
import { Chat, publish, storeOn } from './support.ts';

describe('deliveries are applied once and in the chat server’s order', () => {
  test('a turn end arms, raises the generation and names its first step', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    const result = await chat.turnEnded(0);
    expect(result).toMatchObject({ outcome: 'applied', armed: true, reason: 'armed', generation: 1 });
    expect(result.step?.dueMs).toBe((result.step?.nowMs ?? 0) + 10_000);
    expect(await redis.client.zscore(sessionKeys(redis.tag).armed, chat.id)).toBe(String(result.step?.dueMs));
    expect(await chat.record()).toMatchObject({ state: 'watching', armed: true, generation: 1, tries: undefined });
  });

  test('the same delivery again is answered like the first, step included, and changes nothing', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    const first = await chat.turnEnded(0, {}, { deliveryId: 'msg_1' });
    await chat.turnStarted(1);
    const again = await chat.turnEnded(0, {}, { deliveryId: 'msg_1' });
    expect(again).toMatchObject({ outcome: 'duplicate', armed: true, reason: 'armed', generation: 1 });
    expect(again.step?.dueMs).toBe(first.step?.dueMs);
    expect((await chat.record()).generation).toBe(2);
  });

  test('R48 (2): the same turn’s end under another id is the same event, with the same step', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    const first = await chat.turnEnded(0, { turnId: 't1' });
    const again = await chat.turnEnded(0, { turnId: 't1' });
    expect(again).toMatchObject({ outcome: 'duplicate', reason: 'duplicate-event', generation: 1 });
    expect(again.step?.dueMs).toBe(first.step?.dueMs);
  });

  test('R48 (3): a turn end older than the last human message is stale: no step, no change', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await chat.human(10);
    const late = await chat.turnEnded(5);
    expect(late).toMatchObject({ outcome: 'stale', reason: 'stale-event', armed: false });
    expect(late.step).toBeUndefined();
    expect(await chat.record()).toMatchObject({ armed: false, tries: 0 });
  });

  test('R48 (5): the end of turn 1 after the end of turn 2 is stale', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await chat.turnEnded(20, { turnId: 't2' });
    expect(await chat.turnEnded(10, { turnId: 't1' })).toMatchObject({ outcome: 'stale', generation: 1 });
  });

  test.for([
    ['ended', 'started', 'started'],
    ['started', 'ended', 'started'],
    ['ended', 'human', 'human'],
    ['human', 'ended', 'human'],
    ['started', 'human', 'human'],
    ['human', 'started', 'human'],
    ['human', 'closed', 'closed'],
    ['closed', 'human', 'closed'],
    ['ended', 'closed', 'closed'],
  ] as const)('R48 (4): on equal stamps %s then %s: %s has the last word', async ([first, second, last], { redis }) => {
    const chat = new Chat(storeOn(redis));
    const send = {
      ended: () => chat.turnEnded(3),
      started: () => chat.turnStarted(3),
      human: () => chat.human(3),
      closed: () => chat.closed(3),
    };
    const one = await send[first]();
    const two = await send[second]();
    expect(one.outcome).toBe('applied');
    expect(two.outcome).toBe(second === last ? 'applied' : 'stale');
  });

  test.for([
    ['ended', 'started'],
    ['started', 'ended'],
  ] as const)(
    'on equal stamps the end of the very turn that started wins, arriving %s first',
    async ([first], { redis }) => {
      const chat = new Chat(storeOn(redis));
      const ended = () => chat.turnEnded(3, { turnId: 't7' });
      const started = () => chat.turnStarted(3, { turnId: 't7' });
      await (first === 'ended' ? ended : started)();
      await (first === 'ended' ? started : ended)();
      expect(await chat.record()).toMatchObject({ armed: true, running: false });
    },
  );

  test('a late human message still resets the counter when it is later than the turn end behind the last nudge', async ({
    redis,
  }) => {
    const chat = new Chat(storeOn(redis));
    const store = chat.store;
    await publish(store);
    await chat.nudged();
    await chat.turnEnded(30, { cause: 'recovery' });
    expect((await chat.record()).tries).toBe(1);
    expect((await chat.human(20)).outcome).toBe('stale');
    expect((await chat.record()).tries).toBe(0);
  });

  test('a late human message from before that turn end resets nothing', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await publish(chat.store);
    await chat.nudged();
    await chat.human(-5);
    expect((await chat.record()).tries).toBe(1);
  });

  test('task.stopped and closed: deleted apply in any order', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await chat.turnEnded(10);
    expect((await chat.taskStopped(1, 'b1')).outcome).toBe('applied');
    expect((await chat.record()).stoppedTaskIds).toEqual(['b1']);
    expect((await chat.closed(2, 'deleted')).outcome).toBe('applied');
    expect(await chat.record()).toMatchObject({ state: 'closed', armed: false, generation: 2 });
    expect((await chat.turnEnded(5)).outcome).toBe('stale');
  });

  test('closed: ended that is late is stale', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await chat.turnEnded(10);
    expect((await chat.closed(2)).outcome).toBe('stale');
    expect((await chat.record()).armed).toBe(true);
  });

  test('a crash is shown as failed and ends the watch', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await chat.turnEnded(0);
    await chat.closed(1, 'crashed');
    expect(await chat.record()).toMatchObject({ state: 'failed', stateReason: 'agent-crashed', armed: false });
  });

  test('a turn start voids what was due, the watch and its backstop stay', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await chat.turnEnded(0);
    await chat.turnStarted(1);
    expect(await chat.record()).toMatchObject({ armed: true, running: true, generation: 2 });
    const { sessions } = await chat.store.armedSessions(undefined, 10);
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual([chat.id]);
  });

  test('an interrupted turn is a user’s stop until a human message', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await chat.turnEnded(0, { outcome: 'interrupted' });
    expect(await chat.record()).toMatchObject({ userStopped: true, auto: false });
    await chat.human(1);
    expect((await chat.record()).userStopped).toBe(false);
  });
});

describe('a session has one owner', () => {
  test('another server’s delivery is refused and changes nothing', async ({ redis }) => {
    const store = storeOn(redis);
    const mine = new Chat(store);
    await mine.turnEnded(0);
    const theirs = await mine.turnEnded(1, {}, { server: 'other' });
    expect(theirs).toMatchObject({ outcome: 'other-owner', owner: 'default' });
    expect(await mine.record()).toMatchObject({ server: 'default', generation: 1 });
  });

  test('a signed webhook takes over from a hook, a hook from discovery, never the other way', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await chat.turnEnded(0, {}, { source: 'discovery' });
    expect((await chat.turnEnded(1, {}, { source: 'hook', server: 'other' })).outcome).toBe('applied');
    expect((await chat.turnEnded(2, {}, { source: 'webhook' })).outcome).toBe('applied');
    expect((await chat.turnEnded(3, {}, { source: 'hook', server: 'other' })).outcome).toBe('other-owner');
    expect((await chat.turnEnded(4, {}, { source: 'discovery' })).outcome).toBe('other-owner');
    expect(await chat.record()).toMatchObject({ server: 'default', source: 'webhook' });
  });

  test.for([
    ['a close', (chat: Chat) => chat.closed(1)],
    ['the watch’s end', (chat: Chat) => chat.store.endWatch(chat.id, 'watch-ended')],
  ] as const)('%s frees the session for another server', async ([, free], { redis }) => {
    const chat = new Chat(storeOn(redis));
    await chat.turnEnded(0);
    await free(chat);
    expect((await chat.turnEnded(5, {}, { server: 'other' })).outcome).toBe('applied');
    expect((await chat.record()).server).toBe('other');
  });

  test('a server that the settings no longer know has lost its sessions', async ({ redis }) => {
    const chat = new Chat(storeOn(redis));
    await chat.turnEnded(0);
    const result = await chat.turnEnded(1, {}, { server: 'other', knownServers: ['other'] });
    expect(result.outcome).toBe('applied');
  });
});
