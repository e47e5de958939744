import { randomUUID } from 'node:crypto';
import { planBackstop } from '#shared/queue/plan.js';
import { sessionKeys } from '#shared/session/keys.js';
import { eventually } from '../../support/events.ts';
import { describe, expect, test, type Bench, type HungChat } from './support.ts';

/** The job of a second whose steps are all due by now. */
async function backstop(bench: Bench): Promise<string> {
  const nowMs = await bench.store.now();
  const { name, data, options } = planBackstop(randomUUID(), { dueMs: nowMs, nowMs });
  await bench.queue.add(name, data, options);
  return options.jobId;
}

/** The session's next step is due at this moment, relative to now. */
async function stepAt({ redis, store }: Bench, { chat }: HungChat, inMs: number): Promise<void> {
  await redis.client.zadd(sessionKeys(redis.tag).armed, (await store.now()) + inMs, chat.id);
}

const step = async ({ redis }: Bench, { chat }: HungChat): Promise<number> =>
  Number(await redis.client.zscore(sessionKeys(redis.tag).armed, chat.id));

describe('steps that no watcher takes', () => {
  test('are a worker’s: the hung chat is nudged, and has its next step', async ({ bench }) => {
    const hung = await bench.hungChat();
    await stepAt(bench, hung, -2_500);
    const { armedMs = 0 } = await hung.chat.record();
    await bench.worker();
    await backstop(bench);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    expect(await step(bench, hung)).toBe(armedMs + 10_000);
  });

  test('the later ones too, without any job: asked for now and then, by however many workers', async ({ bench }) => {
    const hung = await bench.hungChat();
    await stepAt(bench, hung, -16_000);
    for (let n = 0; n < 2; n += 1) await bench.worker({}, { carryOnEveryMs: 20 });
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    // Its reply is read by another step, with nobody else there to look.
    hung.transcript.prompt('[Paddock recovery] Go on.');
    hung.transcript.reply();
    await stepAt(bench, hung, -16_000);
    await eventually(async () => (await bench.state(hung)) === 'recovered');
    expect(bench.api.received.map(({ outcome }) => outcome)).toEqual(['started']);
  });

  test('every session of the second gets an evaluation of its own, however many there are', async ({ bench }) => {
    const chats = await Promise.all(Array.from({ length: 205 }, () => bench.hungChat({ autoReDrive: false })));
    for (const hung of chats) await stepAt(bench, hung, -2_500);
    await bench.worker();
    const id = await backstop(bench);
    await eventually(async () => (await bench.queue.bull.getJobState(id)) === 'completed');
    expect((await bench.queue.bull.getJob(id))?.returnvalue).toBe(205);
    await eventually(async () =>
      (await Promise.all(chats.map((hung) => bench.state(hung)))).every((s) => s === 'killed'),
    );
  });

  test('a step that is just due is left to the watchers', async ({ bench }) => {
    const hung = await bench.hungChat();
    await stepAt(bench, hung, -500);
    const before = await step(bench, hung);
    await bench.worker({}, { carryOnEveryMs: 20 });
    const id = await backstop(bench);
    await eventually(async () => (await bench.queue.bull.getJobState(id)) === 'completed');
    expect((await bench.queue.bull.getJob(id))?.returnvalue).toBe(0);
    expect(await step(bench, hung)).toBe(before);
    expect(bench.api.received).toEqual([]);
  });

  test('a watch at its greatest age ends', async ({ bench }) => {
    const hung = await bench.hungChat();
    await stepAt(bench, hung, -2_500);
    // Armed in 1970.
    await bench.redis.client.hset(sessionKeys(bench.redis.tag).session(hung.chat.id), 'at', '1');
    await bench.worker();
    await backstop(bench);
    await eventually(async () => !(await hung.chat.record()).armed);
    expect(await bench.trail(hung)).toContain('watch-ended: watch-too-old');
    expect(bench.api.received).toEqual([]);
  });
});
