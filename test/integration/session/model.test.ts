import { randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { attemptId } from '#shared/session/attempt.js';
import { describe, expect, test } from '../../support/redis.ts';
import { Model } from './model.ts';
import { Chat, SERVER, publish, storeOn } from './support.ts';

/** Commands of one run, and of all runs: the number is told in the test's name and can be raised by hand. */
const RUNS = Number(process.env['MODEL_RUNS'] ?? 100);
/** The same runs each time, so that a failure is one of the change at hand; other seeds by hand. */
const SEED = Number(process.env['MODEL_SEED'] ?? 1);
const COMMANDS = 150;
let executed = 0;
/** How often each answer of a claim was met: all of them must be, or the test proves less than it says. */
const met = new Map<string, number>();
const count = (answer: number | string): void => {
  const name = typeof answer === 'number' ? 'granted' : answer;
  met.set(name, (met.get(name) ?? 0) + 1);
};
const ANSWERS = ['granted', 'superseded', 'cap-reached', 'already-nudged', 'attempt-under-way', 'user-stop', 'paused'];
const NO_LIMITS = { maxNudgesPerHour: 0, maxConcurrent: 0, slotMs: 600_000 };

/** The store under test with what the commands need to remember. */
class Real {
  readonly chat: Chat;
  eventSeconds = 0;
  /** Attempts by the key that they are to have, as the store named them. */
  readonly sentKeys = new Map<string, number>();

  constructor(chat: Chat) {
    this.chat = chat;
  }
  next(): number {
    this.eventSeconds += 10;
    return this.eventSeconds;
  }
  async attempt() {
    return (await this.chat.store.find(this.chat.id))?.attempt;
  }
  async ref(owner: string) {
    return { sessionId: this.chat.id, attemptId: (await this.attempt())?.id ?? 'none', owner };
  }
}

type Command = fc.AsyncCommand<Model, Real>;
const owners = fc.constantFrom('w1', 'w2');
/** Each change may be sent twice, as ioredis does after a reconnect: the second must change nothing. */
const resends = fc.boolean();

async function compare(model: Model, real: Real): Promise<void> {
  executed += 1;
  const record = await real.chat.store.find(real.chat.id);
  if (!model.exists) {
    expect(record).toBeUndefined();
    return;
  }
  expect({
    generation: record?.generation,
    armed: record?.armed,
    closed: record?.state === 'closed',
    notice: record?.notice?.id,
    tries: record?.tries,
    refusals: record?.refusals,
    manuals: record?.manuals,
    userStopped: record?.userStopped,
    paused: (await real.chat.store.paused()).paused,
    attempt: record?.attempt && {
      noticeId: record.attempt.noticeId,
      kind: record.attempt.kind,
      try: record.attempt.try,
      phase: record.attempt.phase,
      outcome: record.attempt.outcome,
      owner: record.attempt.owner,
      unknownBefore: record.attempt.unknownBefore,
    },
  }).toEqual({
    generation: model.generation,
    armed: model.armed,
    closed: model.closed,
    notice: model.notice?.id,
    tries: model.tries,
    refusals: model.refusals,
    manuals: model.manuals,
    userStopped: model.userStopped,
    paused: model.paused,
    attempt: model.attempt && {
      noticeId: model.attempt.noticeId,
      kind: model.attempt.kind,
      try: model.attempt.try,
      phase: model.attempt.phase,
      outcome: model.attempt.outcome,
      owner: model.attempt.owner,
      unknownBefore: model.attempt.unknownBefore,
    },
  });
}

function command(name: string, run: (model: Model, real: Real) => Promise<void>): Command {
  return {
    check: () => true,
    async run(model, real) {
      await run(model, real);
      await compare(model, real);
    },
    toString: () => name,
  };
}

const eventCommands = [
  fc
    .record({
      outcome: fc.constantFrom('completed', 'interrupted'),
      cause: fc.constantFrom('human', 'wake', 'recovery'),
      twice: resends,
    })
    .map(({ outcome, cause, twice }) =>
      command(`turnEnded(${outcome}, ${cause}${twice ? ', twice' : ''})`, async (model, real) => {
        const [seconds, deliveryId] = [real.next(), randomUUID()];
        const send = () => real.chat.turnEnded(seconds, { outcome, cause }, { deliveryId });
        await send();
        if (twice) expect((await send()).outcome).toBe('duplicate');
        model.turnEnded(outcome, cause);
      }),
    ),
  fc.constantFrom('human', 'wake', 'recovery').map((cause) =>
    command(`turnStarted(${cause})`, async (model, real) => {
      await real.chat.turnStarted(real.next(), { cause });
      model.turnStarted(cause);
    }),
  ),
  fc.constant(
    command('human', async (model, real) => {
      await real.chat.human(real.next());
      model.human();
    }),
  ),
  fc.constant(
    command('close', async (model, real) => {
      await real.chat.closed(real.next());
      model.close();
    }),
  ),
  fc.constant(
    command('staleTurnEnd', async (model, real) => {
      if (!model.exists || real.eventSeconds === 0) return;
      const { outcome } = await real.chat.turnEnded(-100);
      expect(outcome).toBe('stale');
    }),
  ),
  fc.constantFrom('b1', 'b2').map((task) =>
    command(`taskStopped(${task})`, async (model, real) => {
      await real.chat.taskStopped(0, task);
      model.taskStopped(task);
    }),
  ),
];

const hangCommand = fc.constantFrom('1', '2', '3', '4', '5').map((n) =>
  command(`hangs(n${n})`, async (model, real) => {
    await real.chat.turnEnded(real.next());
    model.turnEnded('completed', 'human');
    await real.chat.notice(`n${n}`, [`b${n}`]);
    model.noticed({ id: `n${n}`, task: `b${n}` });
  }),
);

const lookCommands = [
  fc.constantFrom('1', '2', '3').map((n) =>
    command(`noticed(n${n})`, async (model, real) => {
      const task = `b${n}`;
      const result = model.exists ? await real.chat.notice(`n${n}`, [task]) : undefined;
      expect(result !== undefined).toBe(model.noticed({ id: `n${n}`, task }));
    }),
  ),
  fc.record({ replied: fc.boolean(), nudgeSeen: fc.boolean() }).map(({ replied, nudgeSeen }) =>
    command(`cleared(${replied ? 'replied' : 'gone'}${nudgeSeen ? ', nudge seen' : ''})`, async (model, real) => {
      // A notice that was never seen cannot be read as answered.
      if (model.notice === undefined) return;
      const cleared = { generation: model.generation, answeredTaskIds: [], replied, nudgeSeen };
      await real.chat.store.cleared(real.chat.id, cleared);
      model.cleared(replied, nudgeSeen);
    }),
  ),
];

/** The whole way in one command: without it a run hardly ever reaches the cap. */
const wholeNudge = fc.constantFrom('accepted', 'unknown', 'refused').map((outcome) =>
  command(`nudged(${outcome})`, async (model, real) => {
    if (model.notice === undefined) return;
    const noticeId = model.notice.id;
    const claim = await real.chat.claim({
      noticeId,
      generation: model.generation,
      leaseMs: 600_000,
      humanSinceNudge: false,
      limits: NO_LIMITS,
    });
    const told = claim.ok ? claim.try : claim.reason.replace('paused-itself', 'paused');
    count(told);
    expect(told).toBe(model.claim('auto', noticeId, model.generation, 'worker-1'));
    if (!claim.ok) return;
    const ref = { sessionId: real.chat.id, attemptId: claim.attemptId, owner: 'worker-1' };
    expect((await real.chat.store.sending(ref, 600_000)).ok).toBe(model.sending('worker-1'));
    await real.chat.store.settleNudge(ref, { outcome: outcome, detail: 'x' });
    model.settle(outcome);
  }),
);

const nudgeCommands = [
  fc
    .record({
      kind: fc.constantFrom('auto', 'auto', 'auto', 'manual'),
      n: fc.constantFrom('', '', '', '', '1', '2'),
      owner: owners,
      twice: resends,
      old: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1),
      leaseMs: fc.constantFrom(600_000, 600_000, 0),
    })
    .map(({ kind, n, owner, twice, old, leaseMs }) =>
      command(
        `claim(${kind}, ${n === '' ? 'the notice' : `n${n}`}, ${owner}${old ? ', old generation' : ''}${leaseMs === 0 ? ', lease runs out' : ''}${twice ? ', twice' : ''})`,
        async (model, real) => {
          const noticeId = n === '' ? (model.notice?.id ?? 'n1') : `n${n}`;
          const change = {
            kind: kind,
            noticeId,
            generation: model.generation - old,
            owner,
            humanSinceNudge: false,
          };
          const send = () =>
            real.chat.store.claimNudge({
              sessionId: real.chat.id,
              leaseMs,
              nudgesInTranscript: 0,
              humanPromptId: undefined,
              limits: NO_LIMITS,
              ...change,
            });
          const state = await real.chat.store.find(real.chat.id);
          if (kind === 'manual' && state?.state === 'nudged') return;
          const first = await send();
          const expected = model.claim(kind, noticeId, model.generation - old, owner);
          const told = first.ok ? first.try : first.reason.replace('paused-itself', 'paused');
          count(told);
          expect(told).toBe(expected);
          if (first.ok && leaseMs === 0) model.expireLease();
          if (!twice || !first.ok) return;
          expect(await send()).toMatchObject({ ok: true, attemptId: first.attemptId });
          model.claim(kind, noticeId, model.generation - old, owner);
          if (leaseMs === 0) model.expireLease();
        },
      ),
    ),
  fc.record({ by: fc.constantFrom('', '', '', 'w2'), twice: resends }).map(({ by, twice }) =>
    command(`sending(${by === '' ? 'its holder' : by}${twice ? ', twice' : ''})`, async (model, real) => {
      const owner = by === '' ? (model.attempt?.owner ?? 'w1') : by;
      const ref = await real.ref(owner);
      const answer = await real.chat.store.sending(ref, 600_000);
      const allowed = model.sending(owner);
      expect(answer.ok).toBe(allowed);
      if (!allowed) return;
      const { attempt } = model;
      expect(ref.attemptId).toBe(
        attemptId({
          server: SERVER,
          sessionId: real.chat.id,
          noticeId: attempt?.noticeId ?? '',
          kind: attempt?.kind ?? 'auto',
          try: attempt?.try ?? 0,
          refusals: attempt?.refusals ?? 0,
        }),
      );
      if (twice) expect((await real.chat.store.sending(ref, 600_000)).ok).toBe(model.sending(owner));
    }),
  ),
  fc
    .record({ outcome: fc.constantFrom('accepted', 'refused', 'unknown', 'failed'), twice: resends })
    .map(({ outcome, twice }) =>
      command(`settle(${outcome}${twice ? ', twice' : ''})`, async (model, real) => {
        // Only a call that may have left can come back.
        if (model.attempt === undefined || model.attempt.phase === 'claimed') return;
        const ref = await real.ref('w1');
        const settlement = { outcome: outcome, detail: 'x' };
        const { applied } = await real.chat.store.settleNudge(ref, settlement);
        expect(applied).toBe(model.settle(outcome));
        if (twice && outcome !== 'accepted')
          expect((await real.chat.store.settleNudge(ref, settlement)).applied).toBe(false);
      }),
    ),
  fc.record({ by: fc.constantFrom('', '', 'w2'), unknown: fc.boolean() }).map(({ by, unknown }) =>
    command(`release(${by === '' ? 'its holder' : by}, ${unknown})`, async (model, real) => {
      const owner = by === '' ? (model.attempt?.owner ?? 'w1') : by;
      await real.chat.store.releaseLease(await real.ref(owner), { unknown, detail: 'x' });
      model.release(owner, unknown);
    }),
  ),
];

/** What an operator does. */
const operatorCommands = [
  fc.constant(
    command('pause', async (model, real) => {
      await real.chat.store.pause('operator');
      model.paused = true;
    }),
  ),
  fc.constant(
    command('resume', async (model, real) => {
      await real.chat.store.resume('operator');
      model.resume();
    }),
  ),
  fc.constant(
    command('endWatch', async (model, real) => {
      // A watch that was ended stays ended: doing it again raises nothing.
      const again = model.exists && !model.armed;
      if (again) return;
      await real.chat.store.endWatch(real.chat.id, 'watch-ended');
      model.endWatch();
    }),
  ),
];

describe('the store against a plain model of the behaviour', () => {
  test(
    `random interleavings of events, looks, claims, calls, settlements and resends agree after each step (${RUNS} runs)`,
    { timeout: 120_000 },
    async ({ redis }) => {
      // Most of the time something hangs and somebody works on it: a uniform choice would hardly ever get as far as a call.
      const weighted = fc.oneof(
        { weight: 3, arbitrary: fc.oneof(...eventCommands) },
        { weight: 6, arbitrary: hangCommand },
        { weight: 5, arbitrary: wholeNudge },
        { weight: 4, arbitrary: fc.oneof(...lookCommands) },
        { weight: 30, arbitrary: fc.oneof(...nudgeCommands) },
        { weight: 2, arbitrary: fc.oneof(...operatorCommands) },
      );
      await fc.assert(
        fc.asyncProperty(fc.commands([weighted], { maxCommands: COMMANDS, size: 'max' }), async (commands) => {
          await redis.client.unlink(`{${redis.tag}}:pause`, `{${redis.tag}}:streak`);
          const store = storeOn(redis);
          await publish(store, { maxRetries: 2 });
          const model = new Model();
          model.maxRetries = 2;
          await fc.asyncModelRun(() => ({ model, real: new Real(new Chat(store)) }), commands);
        }),
        { numRuns: RUNS, seed: SEED },
      );
      expect([...met.keys()]).toEqual(expect.arrayContaining(ANSWERS));
      console.info(`model-based test: ${executed} commands run`, Object.fromEntries(met));
    },
  );
});
