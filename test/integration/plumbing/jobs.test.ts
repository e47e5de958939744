import { randomUUID } from 'node:crypto';
import { JOB_VERSION, NEWEST_JOB_VERSION } from '#shared/queue/jobs.js';
import { planEvaluation } from '#shared/queue/plan.js';
import type { AddOptions } from '#shared/queue/queue.js';
import { eventually, eventuallyPasses, latch } from '../../support/events.ts';
import { PROJECT, SERVER } from '../session/support.ts';
import { describe, expect, test, type Bench, type HungChat } from '../worker/support.ts';

/** A turn end's record, and the evaluation of its first step, due in so many ms. */
async function turnEnd(bench: Bench, { chat, transcript }: HungChat, atSeconds: number, dueInMs = 0): Promise<string> {
  const arm = { path: transcript.path, armed: true, auto: true, reason: 'armed' as const };
  const { step, generation } = await chat.turnEnded(atSeconds, { cause: 'recovery' }, { arm });
  if (step === undefined) throw new Error('no step');
  const work = { sessionId: chat.id, server: SERVER, project: PROJECT, generation, path: transcript.path, cid: 'test' };
  const { nowMs } = step;
  const planned = planEvaluation(work, 'sweep', undefined, { dueMs: nowMs + dueInMs, nowMs });
  await bench.queue.add(planned.name, planned.data, planned.options);
  return planned.options.jobId;
}

/** The chat hangs once more, with another task. */
function hangAgain({ transcript }: HungChat): void {
  const task = transcript.launch();
  transcript.reply('Waiting for it.');
  transcript.notice(task);
}

const stateOf = (bench: Bench, id: string): Promise<string> => bench.queue.bull.getJobState(id);

describe('R36: a job id is used once', () => {
  test('a finished job is kept, and the next turn end of the session is looked at all the same', async ({ bench }) => {
    const hung = await bench.hungChat({ maxRetries: 2 });
    bench.api.onTurn = ({ text }) => {
      hung.transcript.prompt(text);
      hung.transcript.reply();
    };
    await bench.worker();
    const first = await turnEnd(bench, hung, 1);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    await eventually(async () => (await stateOf(bench, first)) === 'completed');

    bench.api.add(hung.chat.id, { project: PROJECT });
    hangAgain(hung);
    const second = await turnEnd(bench, hung, 2);
    expect(second).not.toBe(first);
    await eventually(() => bench.api.turns(hung.chat.id).length === 2);
    expect(await stateOf(bench, first)).toBe('completed');
  });

  test('its ids are none that BullMQ takes for its own or refuses', async ({ bench }) => {
    const hung = await bench.hungChat();
    await turnEnd(bench, hung, 1);
    const ids = (await bench.queue.bull.getJobs(['delayed', 'waiting'])).map(({ id }) => id ?? '');
    expect(ids.length).toBeGreaterThan(0);
    for (const id of ids) expect(id).toMatch(/^[a-z][\w-]+$/);
  });
});

describe('R37: a second turn end is never lost on the job of the first', () => {
  test('(a) while that is delayed, (c) just after it completed: looked at again', async ({ bench }) => {
    const hung = await bench.hungChat();
    const { chat } = hung;
    const delayed = await turnEnd(bench, hung, 1, 60_000);
    const id = await turnEnd(bench, hung, 2);
    await bench.worker();
    await eventually(() => bench.api.turns(chat.id).length === 1);
    await eventually(async () => (await stateOf(bench, id)) === 'completed');
    expect(await stateOf(bench, delayed)).toBe('delayed');

    bench.api.add(chat.id, { project: PROJECT });
    const last = await turnEnd(bench, hung, 3);
    await eventually(async () => (await stateOf(bench, last)) === 'completed');
    expect(bench.api.turns(chat.id)).toHaveLength(1);
  });

  test('(b) while that is active: a check of its own follows, and it is the one that nudges', async ({ bench }) => {
    const hung = await bench.hungChat();
    const service = await bench.worker();
    const [reached, go] = [latch(), latch()];
    const sending = service.parts.store.sending.bind(service.parts.store);
    service.parts.store.sending = async (...args) => {
      reached.open();
      await go.opened;
      return sending(...args);
    };
    const first = await turnEnd(bench, hung, 1);
    await reached.opened;
    const second = await turnEnd(bench, hung, 2);
    expect(second).not.toBe(first);
    go.open();
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    await eventually(() => bench.idle());
    expect(bench.api.received.map(({ outcome }) => outcome)).toEqual(['started']);
  });
});

describe('R31: a person comes between the check and the call', () => {
  test('the message arrives when everything has been decided: no call', async ({ bench }) => {
    const hung = await bench.hungChat();
    const service = await bench.worker();
    const sending = service.parts.store.sending.bind(service.parts.store);
    const spoke = latch();
    service.parts.store.sending = async (...args) => {
      await hung.chat.human(5);
      spoke.open();
      return sending(...args);
    };
    await bench.look(hung);
    await spoke.opened;
    await eventually(() => bench.idle());
    expect(bench.api.received).toEqual([]);
    expect(await hung.chat.record()).toMatchObject({ tries: 0, notice: undefined });
  });
});

describe('R34: nothing latches', () => {
  test('at the cap a human message resets the counter, and the next hang is nudged', async ({ bench }) => {
    const hung = await bench.hungChat();
    const { chat, transcript } = hung;
    bench.api.onTurn = ({ text }) => {
      transcript.prompt(text);
      transcript.reply();
    };
    await bench.worker();
    await bench.look(hung);
    await eventually(() => bench.api.turns(chat.id).length === 1);
    await chat.human(10);
    transcript.human('And now the other one.');
    hangAgain(hung);
    bench.api.add(chat.id, { project: PROJECT });
    await chat.turnEnded(20, {}, { arm: { path: transcript.path, armed: true, auto: true, reason: 'armed' } });
    await bench.look(hung);
    await eventually(() => bench.api.turns(chat.id).length === 2);
  });

  test('a job that comes three days late, after an outage, ends without effect', async ({ bench, redis }) => {
    const hung = await bench.hungChat();
    const threeDaysAgo = (await bench.store.now()) - 3 * 86_400_000;
    await redis.client.hset(`{${redis.tag}}:s:${hung.chat.id}`, 'at', threeDaysAgo);
    await bench.look(hung);
    await bench.worker();
    await eventually(async () => (await bench.queue.bull.getCompletedCount()) === 1);
    const [job] = await bench.queue.bull.getCompleted();
    expect(job?.returnvalue).toBe('work-too-old');
    expect(bench.api.received).toEqual([]);
  });

  test('so does one of an older generation, whose turn is long over', async ({ bench }) => {
    const hung = await bench.hungChat();
    await bench.look(hung);
    await hung.chat.turnStarted(5);
    await bench.worker();
    await eventually(async () => (await bench.queue.bull.getCompletedCount()) === 1);
    const [job] = await bench.queue.bull.getCompleted();
    expect(job?.returnvalue).toBe('superseded');
    expect(bench.api.received).toEqual([]);
  });
});

describe('R29: sleep', () => {
  test('the host slept between first sight and check: not nudged on the first check, the debounce starts anew, once', async ({
    bench,
  }) => {
    const debounceMs = 500;
    const hung = await bench.hungChat({ debounceMs });
    const service = await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('killed'));
    const seenAt = performance.now();
    await eventually(() => performance.now() - seenAt > 50);
    const sleptAt = performance.now();
    // What the ticker says after a gap of ten minutes, on either clock (test/unit/platform/ticker.test.ts).
    service.parts.lastGapAgoMs = () => performance.now() - sleptAt;
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    const record = await hung.chat.record();
    expect((bench.api.turns(hung.chat.id)[0]?.atMs ?? 0) - (record.notice?.firstSeenMs ?? 0)).toBeGreaterThanOrEqual(
      debounceMs,
    );
    expect(record.notice?.restarted).toBe(true);
    expect(record.notice?.seenMs).toBeGreaterThan(record.notice?.firstSeenMs ?? Infinity);
  });
});

describe('R46: a job that is repeated from the board', () => {
  test('retry of a finished one and promote of a waiting one pass the same guards: nothing is sent twice', async ({
    bench,
  }) => {
    const hung = await bench.hungChat();
    await bench.worker();
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    await eventually(async () => (await bench.queue.bull.getCompletedCount()) >= 1);
    bench.api.add(hung.chat.id, { project: PROJECT });
    for (const job of await bench.queue.bull.getCompleted()) await job.retry('completed');
    for (const job of await bench.queue.bull.getDelayed()) await job.promote();
    await eventually(() => bench.idle());
    expect(bench.api.turns(hung.chat.id)).toHaveLength(1);
    expect(await hung.chat.record()).toMatchObject({ tries: 1 });
  });

  test('promoted before its debounce is over it waits all the same', async ({ bench }) => {
    const hung = await bench.hungChat({ debounceMs: 1_000 });
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('killed'));
    await eventuallyPasses(async () => {
      const [job] = await bench.queue.bull.getDelayed();
      await job?.promote();
      expect(job).toBeDefined();
    });
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    const { notice } = await hung.chat.record();
    expect((bench.api.turns(hung.chat.id)[0]?.atMs ?? 0) - (notice?.firstSeenMs ?? 0)).toBeGreaterThanOrEqual(1_000);
  });
});

describe('after a lowered limit', () => {
  test('the overflow is deferred, one turn at a time, and none is lost', async ({ bench }) => {
    const chats = await Promise.all([bench.hungChat(), bench.hungChat(), bench.hungChat()]);
    const running = { now: 0, most: 0 };
    bench.api.onTurn = ({ sessionId, text }) => {
      running.now += 1;
      running.most = Math.max(running.most, running.now);
      const hung = chats.find(({ chat }) => chat.id === sessionId);
      setTimeout(() => {
        running.now -= 1;
        hung?.transcript.prompt(text);
        hung?.transcript.reply();
        bench.api.add(sessionId, { project: PROJECT });
        void hung?.chat.turnEnded(
          9,
          { cause: 'recovery' },
          { arm: { path: hung.transcript.path, armed: true, auto: true, reason: 'armed' } },
        );
      }, 300);
    };
    await bench.worker({ RECOVERY_MAX_CONCURRENT: '1' });
    await Promise.all(chats.map((hung) => bench.look(hung)));
    await eventually(() => chats.every(({ chat }) => bench.api.turns(chat.id).length === 1), { timeoutMs: 20_000 });
    await eventually(() => running.now === 0);
    expect(running.most).toBe(1);
    const trails = await Promise.all(chats.map((hung) => bench.trail(hung)));
    expect(trails.flat().filter((line) => line === 'deferred: budget-concurrent').length).toBeGreaterThanOrEqual(2);
    expect(trails.flat().filter((line) => line.startsWith('failed'))).toEqual([]);
  });
});

describe('a payload of another program', () => {
  test('a newer one waits for a newer worker, an unreadable one fails by itself and is not tried for ever', async ({
    bench,
  }) => {
    const hung = await bench.hungChat();
    const nowMs = await bench.store.now();
    const options: AddOptions = { jobId: `evaluate-${randomUUID()}`, dueMs: nowMs, nowMs };
    const work = {
      sessionId: hung.chat.id,
      server: SERVER,
      project: PROJECT,
      generation: 1,
      path: hung.transcript.path,
      cid: 'x',
    };
    const { data } = planEvaluation(work, 'sweep', undefined, { dueMs: nowMs, nowMs });
    await bench.queue.add('evaluate', { ...data, v: NEWEST_JOB_VERSION + 1 }, options);
    await bench.queue.bull.add(
      'evaluate',
      { v: JOB_VERSION.evaluate, sessionId: 'no id' },
      { jobId: `evaluate-${randomUUID()}`, attempts: 10 },
    );
    await bench.worker();
    await eventually(async () => (await bench.queue.bull.getFailedCount()) === 1);
    expect((await bench.queue.bull.getFailed())[0]?.attemptsMade).toBe(1);
    expect(await stateOf(bench, options.jobId)).toBe('delayed');
    expect(bench.api.received).toEqual([]);
  });
});
