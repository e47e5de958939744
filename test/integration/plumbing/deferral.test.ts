import { eventually, eventuallyPasses } from '../../support/events.ts';
import { PROJECT } from '../session/support.ts';
import { describe, expect, test, type Bench, type HungChat } from '../worker/support.ts';

const SLOW = { timeoutMs: 60_000 };
const STAND_DOWN_MS = 30_000;

/** Attempts that BullMQ counts, of each job of this chat. */
async function triesCounted(bench: Bench, { chat }: HungChat): Promise<number[]> {
  const jobs = await bench.queue.bull.getJobs(['completed', 'failed', 'delayed', 'waiting', 'active']);
  return jobs.filter((job) => job.id?.includes(chat.id)).map((job) => job.attemptsMade);
}

describe('R30, R41: deferral', { timeout: 90_000 }, () => {
  test('busy for ten polls, then idle; busy for ever; a process that lives on for 20 s; our nudge interrupted', async ({
    bench,
  }) => {
    const service = await bench.worker();
    const errors: string[] = [];
    service.worker.bull.on('error', (error) => errors.push(error.message));
    service.worker.bull.on('failed', (_job, error) => errors.push(error.message));

    const [tenPolls, forEver, otherProcess, interrupted] = await Promise.all([
      bench.hungChat(),
      bench.hungChat(),
      bench.hungChat(),
      bench.hungChat(),
    ]);
    let polls = 0;
    const status = bench.api.add(tenPolls.chat.id, { project: PROJECT });
    bench.api.sessions.set(tenPolls.chat.id, {
      ...status,
      get state() {
        polls += 1;
        return polls <= 10 ? ('running' as const) : ('idle' as const);
      },
      set state(_next) {
        // A turn runs from now on; nobody asks any more.
      },
    });
    bench.api.add(forEver.chat.id, { project: PROJECT, state: 'waiting' });
    // The chat layer says idle; the contract is that any process that still drives the session makes it running (R30).
    const lives = bench.api.add(otherProcess.chat.id, { project: PROJECT, state: 'running' });
    const startedMs = performance.now();
    setTimeout(() => Object.assign(lives, { state: 'idle' }), 20_000);
    // File 48: our nudge stands there, and then the mark of an interruption.
    interrupted.transcript.prompt('[Paddock recovery] Please check the task.');
    interrupted.transcript.interruption();

    await Promise.all([tenPolls, forEver, otherProcess, interrupted].map((hung) => bench.look(hung)));

    await eventually(() => bench.api.turns(otherProcess.chat.id).length === 1, SLOW);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(20_000);
    expect(bench.api.turns(tenPolls.chat.id)).toHaveLength(1);
    expect(polls).toBeGreaterThanOrEqual(11);

    await eventuallyPasses(async () => expect(await bench.state(forEver)).toBe('stood-down'), SLOW);
    expect(performance.now() - startedMs).toBeGreaterThanOrEqual(STAND_DOWN_MS);
    expect(bench.api.turns(forEver.chat.id)).toEqual([]);
    const line = (await bench.store.trail(forEver.chat.id)).find(({ kind }) => kind === 'stood-down');
    expect(line).toMatchObject({ reason: 'deferred-too-long', detail: { because: 'waiting' } });
    expect(Number(line?.detail?.['deferrals'])).toBeGreaterThanOrEqual(20);

    expect(bench.api.turns(interrupted.chat.id)).toEqual([]);
    for (const hung of [tenPolls, forEver, otherProcess]) {
      // BullMQ counts the run that ended it; the deferrals before it count for nothing.
      expect(Math.max(...(await triesCounted(bench, hung)))).toBeLessThanOrEqual(1);
      expect((await hung.chat.record()).tries ?? 0).toBe(hung === forEver ? 0 : 1);
    }
    // "Missing lock" among them is what deferring without the token, or without the error, brings.
    expect(errors).toEqual([]);
  });

  test('after it stood down the watch goes on: a later step tries again', async ({ bench }) => {
    const hung = await bench.hungChat();
    await bench.worker();
    await bench.store.noticed(hung.chat.id, {
      generation: 1,
      noticeId: 'any',
      noticeKey: 'any',
      wakeKey: undefined,
      tasks: [],
    });
    await bench.store.show(hung.chat.id, {
      generation: 1,
      state: 'stood-down',
      reason: 'deferred-too-long',
      kind: 'stood-down',
    });
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
  });
});
