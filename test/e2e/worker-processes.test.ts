import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { planEvaluation } from '#shared/queue/plan.js';
import { Bench, type HungChat } from '../integration/worker/support.ts';
import { PROJECT, SERVER } from '../integration/session/support.ts';
import { eventually, eventuallyPasses, latch } from '../support/events.ts';
import { ROOT, startProcess, type TestProcess } from '../support/processes.ts';
import { tcpProxy } from '../support/proxy.ts';
import { afterAll, describe, expect, test as redisTest } from '../support/redis.ts';
import { SessionApiStandIn, type ReceivedMessage } from '../support/session-api-stand-in.ts';

const SLOW = { timeoutMs: 60_000 };
const figures: string[] = [];
afterAll(() => {
  if (figures.length > 0) console.error(figures.join('\n'));
});

interface Workers {
  start(env?: Record<string, string>): Promise<TestProcess>;
}

/** Workers as real processes beside a bench that plays the watcher and the chat server. */
const test = redisTest.extend<{ bench: Bench; workers: Workers; scratch: string }>({
  scratch: async ({ redis: _redis }, use) => {
    const dir = mkdtempSync(join(tmpdir(), 'chat-recovery-workers-'));
    await use(dir);
    rmSync(dir, { recursive: true, force: true });
  },
  bench: async ({ redis }, use) => {
    const bench = new Bench(redis, await SessionApiStandIn.start());
    await use(bench);
    await bench.close();
  },
  workers: async ({ bench, redis }, use) => {
    const started: TestProcess[] = [];
    await use({
      async start(env = {}) {
        const worker = await startProcess({
          file: 'services/recovery-worker/main.ts',
          env: {
            REDIS_URL: redis.url,
            REDIS_HASH_TAG: redis.tag,
            SESSION_API_URL: bench.api.url,
            TRANSCRIPT_ROOTS: bench.root,
            RECOVERY_SETTLE_MS: '0',
            SESSION_API_TIMEOUT_MS: '4000',
            NUDGE_CONFIRM_MS: '60000',
            ...env,
          },
        });
        started.push(worker);
        return worker;
      },
    });
    for (const worker of started) {
      worker.signal('SIGCONT');
      await worker.stop('SIGKILL');
    }
  },
});

/** Calls `at` when the session API is asked for this chat's state: everything is decided then, nothing claimed. */
function whenAsked(bench: Bench, { chat }: HungChat, at: () => void): void {
  const session = bench.api.sessions.get(chat.id);
  if (session === undefined) throw new Error('unknown session');
  let asked = false;
  const { state } = session;
  bench.api.sessions.set(chat.id, {
    ...session,
    get state() {
      if (!asked) {
        asked = true;
        at();
      }
      return state;
    },
    set state(next) {
      bench.api.sessions.set(chat.id, { ...session, state: next });
    },
  });
}

/** One started turn, and nothing but repeats of it with the same key. */
function expectOneTurn({ api }: Bench, { chat }: HungChat): void {
  const received = api.received.filter(({ sessionId }) => sessionId === chat.id);
  expect(received.filter(({ outcome }) => outcome === 'started')).toHaveLength(1);
  expect(new Set(received.map(({ key }) => key)).size).toBe(1);
}

/** Nothing is being done or waits for a worker; what is due later (whether the nudge had an effect) may stand. */
async function atRest({ queue }: Bench): Promise<boolean> {
  const counts = await queue.bull.getJobCounts('waiting', 'active');
  return counts['waiting'] === 0 && counts['active'] === 0;
}

const noMissingLock = (worker: TestProcess): void => expect(worker.lines.join('\n')).not.toMatch(/missing lock/i);

describe('R40: a worker is stopped (SIGSTOP) for longer than its lock, another takes over, then it goes on', () => {
  test('between the decision and the claim: one nudge', async ({ bench, workers }) => {
    const hung = await bench.hungChat();
    const first = await workers.start();
    whenAsked(bench, hung, () => first.signal('SIGSTOP'));
    await bench.look(hung);
    const second = await workers.start();
    await eventually(() => bench.api.turns(hung.chat.id).length === 1, SLOW);
    first.signal('SIGCONT');
    await first.line(/could not renew lock|Missing lock|Nudged/);
    await eventually(() => atRest(bench), SLOW);
    expectOneTurn(bench, hung);
    expect((await hung.chat.record()).tries).toBe(1);
    noMissingLock(second);
  });

  test('in the middle of its call: the other repeats the key, one turn', async ({ bench, workers }) => {
    const hung = await bench.hungChat();
    const first = await workers.start();
    bench.api.onTurn = () => first.signal('SIGSTOP');
    bench.api.fail('POST', { kind: 'accept-then-cut' });
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1, SLOW);
    bench.api.onTurn = () => undefined;
    await workers.start();
    await eventually(() => bench.api.received.some(({ outcome }) => outcome === 'replayed'), SLOW);
    first.signal('SIGCONT');
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('nudged'), SLOW);
    await eventually(() => atRest(bench), SLOW);
    expectOneTurn(bench, hung);
  });
});

describe('R45: a worker is ended at each point, another finishes', () => {
  test('SIGTERM during the call: the call ends, it is recorded, exit 0', async ({ bench, workers }) => {
    const hung = await bench.hungChat();
    const worker = await workers.start();
    const ended = latch<{ code: number | null }>();
    bench.api.onTurn = () => void worker.stop('SIGTERM').then((end) => ended.open(end));
    await bench.look(hung);
    expect((await ended.opened).code).toBe(0);
    expect(await bench.state(hung)).toBe('nudged');
    expectOneTurn(bench, hung);
    noMissingLock(worker);
  });

  test('SIGTERM during a call that is never answered: cut off at the deadline, and repeated by the next with its key', async ({
    bench,
    workers,
  }) => {
    const hung = await bench.hungChat();
    const worker = await workers.start({ SHUTDOWN_DEADLINE_MS: '1000', SESSION_API_TIMEOUT_MS: '60000' });
    bench.api.fail('POST', { kind: 'hang' });
    await bench.look(hung);
    await eventuallyPasses(async () => expect((await hung.chat.record()).attempt?.phase).toBe('sending'), SLOW);
    const fromMs = performance.now();
    const { code } = await worker.stop('SIGTERM');
    expect(performance.now() - fromMs).toBeLessThan(5_000);
    expect(code).toBe(0);
    const { attempt } = await hung.chat.record();
    await workers.start();
    await eventually(() => bench.api.turns(hung.chat.id).length === 1, SLOW);
    expect(bench.api.turns(hung.chat.id)[0]?.key).toBe(attempt?.id);
    expect((await hung.chat.record()).tries).toBe(1);
  });

  test.for(['SIGTERM', 'SIGKILL'] as const)(
    '%s during the read of a long transcript: nothing sent by it, the next one nudges',
    async (signal, { bench, workers }) => {
      const hung = await bench.hungChat();
      // Read backwards, all of it stands before the launch that decides.
      for (let count = 0; count < 12; count += 1)
        hung.transcript.append({ type: 'system', content: 'x'.repeat(4_000_000) });
      const worker = await workers.start();
      await bench.look(hung);
      await eventually(async () => (await bench.queue.bull.getActiveCount()) === 1, SLOW);
      await worker.stop(signal);
      await workers.start();
      await eventually(() => bench.api.turns(hung.chat.id).length === 1, SLOW);
      await eventually(async () => (await bench.queue.bull.getActiveCount()) === 0, SLOW);
      expectOneTurn(bench, hung);
    },
  );

  test('SIGKILL during the call, twice: taken up each time with the same key, never failed for it', async ({
    bench,
    workers,
  }) => {
    const hung = await bench.hungChat();
    const killed: string[] = [];
    let current = await workers.start();
    bench.api.onTurn = ({ key }: ReceivedMessage) => {
      killed.push(key);
      current.signal('SIGKILL');
    };
    await bench.look(hung);
    await current.exited;
    // The first call arrived. Of the second worker only the repeat is seen: it is ended while it has the job.
    current = await workers.start();
    await eventually(async () => (await bench.queue.bull.getActiveCount()) === 1, SLOW);
    await current.stop('SIGKILL');
    const fromMs = performance.now();
    await workers.start();
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('nudged'), SLOW);
    figures.push(`settled by a third worker ${Math.round(performance.now() - fromMs)} ms after it started`);
    expectOneTurn(bench, hung);
    expect(await bench.queue.bull.getFailedCount()).toBe(0);
  });

  test('SIGTERM twice, a second apart: the second ends it at once', async ({ bench, workers }) => {
    const hung = await bench.hungChat();
    const worker = await workers.start({ SESSION_API_TIMEOUT_MS: '8000' });
    bench.api.fail('POST', { kind: 'hang' });
    await bench.look(hung);
    await eventuallyPasses(async () => expect((await hung.chat.record()).attempt?.phase).toBe('sending'), SLOW);
    worker.signal('SIGTERM');
    await worker.line(/Stopping/);
    const saidMs = performance.now();
    await eventually(() => performance.now() - saidMs > 700);
    const { code } = await worker.stop('SIGTERM');
    expect(code).toBe(1);
    await workers.start();
    await eventually(() => bench.api.turns(hung.chat.id).length === 1, SLOW);
    expect((await hung.chat.record()).tries).toBe(1);
  });

  test('SIGTERM while Redis cannot be reached: it ends within its deadline all the same', async ({
    workers,
    redis,
  }) => {
    const proxy = await tcpProxy({ port: Number(new URL(redis.url).port) });
    const worker = await workers.start({ REDIS_URL: `redis://127.0.0.1:${proxy.port}`, SHUTDOWN_DEADLINE_MS: '1000' });
    proxy.cut();
    const fromMs = performance.now();
    await worker.stop('SIGTERM');
    expect(performance.now() - fromMs).toBeLessThan(8_000);
    await proxy.close();
  });
});

describe('R29: clocks and sleep of real processes', () => {
  test.for([90_000, -90_000])(
    'a worker whose clock is %i ms off: no nudge before the debounce, and none late by it',
    async (offMs, { bench, workers }) => {
      const hung = await bench.hungChat({ debounceMs: 1_000 });
      const worker = await workers.start({
        NODE_OPTIONS: `--import ${ROOT}test/fixtures/programs/clock-off.mjs`,
        CLOCK_OFF_MS: String(offMs),
      });
      const nowMs = await bench.store.now();
      const work = {
        sessionId: hung.chat.id,
        server: SERVER,
        project: PROJECT,
        generation: 1,
        path: hung.transcript.path,
        cid: 'test',
      };
      const planned = planEvaluation(work, 'sweep', undefined, { dueMs: nowMs + 500, nowMs });
      const fromMs = performance.now();
      await bench.queue.add(planned.name, planned.data, planned.options);
      await eventually(() => bench.api.turns(hung.chat.id).length === 1, SLOW);
      const tookMs = performance.now() - fromMs;
      figures.push(`clock off by ${offMs} ms: nudged after ${Math.round(tookMs)} ms`);
      const { notice } = await hung.chat.record();
      expect((bench.api.turns(hung.chat.id)[0]?.atMs ?? 0) - (notice?.firstSeenMs ?? 0)).toBeGreaterThanOrEqual(1_000);
      expect(tookMs).toBeLessThan(30_000);
      await worker.line(/clock of this machine differs/);
    },
  );

  test('the worker sleeps (SIGSTOP) for 12 s within the debounce: the first check after it does not nudge', async ({
    bench,
    workers,
  }) => {
    const debounceMs = 2_000;
    const hung = await bench.hungChat({ debounceMs });
    const worker = await workers.start();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('killed'));
    worker.signal('SIGSTOP');
    const stoppedMs = performance.now();
    await eventually(() => performance.now() - stoppedMs > 12_000, SLOW);
    const wokenMs = Date.now();
    worker.signal('SIGCONT');
    await eventually(() => bench.api.turns(hung.chat.id).length === 1, SLOW);
    expect((bench.api.turns(hung.chat.id)[0]?.atMs ?? 0) - wokenMs).toBeGreaterThanOrEqual(debounceMs - 50);
    expect(await bench.trail(hung)).toContain('deferred: host-slept');
  });
});
