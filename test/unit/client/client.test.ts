import { describe, expect, expectTypeOf, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { signedHeaders, type LifecycleEvent } from 'chat-recovery/client';
import { createGate } from '#shared/client/gate.js';
import { Stamps } from '#shared/client/stamps.js';
import { LIFECYCLE_TYPES, type LifecycleDelivery } from '#shared/session/events.js';

describe('the published types', () => {
  test('are what the watcher’s schema takes, in both directions', () => {
    expectTypeOf<LifecycleEvent>().toExtend<LifecycleDelivery>();
    expectTypeOf<LifecycleEvent['type']>().toEqualTypeOf<(typeof LIFECYCLE_TYPES)[number]>();
    expectTypeOf<Extract<LifecycleDelivery, { type: 'turn.started' }>>().toExtend<LifecycleEvent>();
    expectTypeOf<Extract<LifecycleDelivery, { type: 'message.human' }>>().toExtend<LifecycleEvent>();
    expectTypeOf<Extract<LifecycleDelivery, { type: 'task.stopped' }>>().toExtend<LifecycleEvent>();
    expectTypeOf<Extract<LifecycleDelivery, { type: 'session.closed' }>>().toExtend<LifecycleEvent>();
    // The schema says by a refinement, the type by a union, that a path or a folder is needed.
    type End = Extract<LifecycleDelivery, { type: 'turn.ended' }>;
    type Named = Omit<End, 'data'> & { data: End['data'] & { transcriptPath: string } };
    expectTypeOf<Named>().toExtend<LifecycleEvent>();
  });
});

describe('the signature', () => {
  const delivery = { id: 'msg_1', body: '{"type":"turn.ended"}' };

  test.each([`whsec_${Buffer.from('thirty-two bytes of a secret ...').toString('base64')}`])(
    'verifies with another implementation',
    (secret) => {
      expect(new Webhook(secret).verify(delivery.body, signedHeaders(delivery, secret, Date.now()))).toEqual({
        type: 'turn.ended',
      });
    },
  );

  test('is left out without a secret', () =>
    expect(Object.keys(signedHeaders(delivery, undefined, 1_000))).toEqual(['webhook-id', 'webhook-timestamp']));
});

const ms = (text: string) => Date.parse(text);

describe('stamps', () => {
  test('rise within a session whatever the clock does, and know no other session', () => {
    const stamps = new Stamps();
    expect(ms(stamps.next('a', 1_000))).toBe(1_000);
    expect(ms(stamps.next('a', 1_000))).toBe(1_001);
    expect(ms(stamps.next('a', 400))).toBe(1_002);
    expect(ms(stamps.next('b', 400))).toBe(400);
    stamps.saw('b', new Date(900).toISOString());
    expect(ms(stamps.next('b', 401))).toBe(901);
  });

  test('forget sessions whose time has passed, not the others', () => {
    const stamps = new Stamps();
    for (let index = 0; index < 1_500; index += 1) stamps.next(`s${index}`, index);
    stamps.next('ahead', 5_000);
    stamps.next('now', 3_000);
    expect(Date.parse(stamps.next('ahead', 3_000))).toBe(5_001);
  });
});

describe('the gate', () => {
  test('lets so many in at once, the others in their order, and frees the place of one that fails', async () => {
    const gate = createGate(2);
    const log: string[] = [];
    const doors = new Map<string, () => void>();
    const enter = (name: string) =>
      gate(() => {
        log.push(name);
        return new Promise<void>((resolve) => doors.set(name, resolve));
      });
    const all = [enter('a'), enter('b'), enter('c'), enter('d')];
    await Promise.resolve();
    expect(log).toEqual(['a', 'b']);
    doors.get('b')?.();
    await all[1];
    await new Promise(setImmediate);
    expect(log).toEqual(['a', 'b', 'c']);
    const failing = gate(() => Promise.reject(new Error('no'))).catch((error: Error) => error.message);
    for (const name of ['a', 'c']) doors.get(name)?.();
    await new Promise(setImmediate);
    doors.get('d')?.();
    expect(await failing).toBe('no');
    await Promise.all(all);
    await gate(async () => void log.push('e'));
    expect(log).toEqual(['a', 'b', 'c', 'd', 'e']);
  });
});
