import { eventually, eventuallyPasses } from '../../support/events.ts';
import { describe, expect, test } from './support.ts';

describe('between the decision and the call', () => {
  test('a person’s whole turn goes by: nothing is sent, and the retry is given back', async ({ bench }) => {
    const hung = await bench.hungChat();
    bench.api.onState = () => {
      hung.transcript.human('I am back.');
      hung.transcript.reply();
    };
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.trail(hung)).toContain('void: transcript-changed'));
    await eventually(() => bench.idle());
    expect(bench.api.received).toEqual([]);
    expect(await hung.chat.record()).toMatchObject({ tries: 0, notice: undefined, state: 'watching' });
  });

  test('a line comes that changes nothing: judged anew, and nudged once', async ({ bench }) => {
    const hung = await bench.hungChat();
    bench.api.onState = () => {
      bench.api.onState = () => undefined;
      hung.transcript.append({ type: 'mode', mode: 'default' });
    };
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('nudged'));
    expect(bench.api.received).toHaveLength(1);
    expect((await hung.chat.record()).tries).toBe(1);
  });

  test('R40: the worker was stopped and its user ended the task meanwhile: the old permission does not count', async ({
    bench,
  }) => {
    const hung = await bench.hungChat();
    const { parts } = await bench.worker();
    const { store } = parts;
    // What SIGSTOP does to the answer of a command: it is read long after it was given.
    let isLate = true;
    const sending: typeof store.sending = async (...asked) => {
      const permission = await store.sending(...asked);
      if (!isLate) return permission;
      isLate = false;
      await hung.chat.taskStopped(5, hung.task.taskId);
      await new Promise((resolve) => setTimeout(resolve, 1_100));
      return permission;
    };
    parts.store = { ...store, sending };
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.trail(hung)).toContain('void: user-stop'), {
      timeoutMs: 5_000,
    });
    await eventually(() => bench.idle());
    expect(bench.api.received).toEqual([]);
    expect((await hung.chat.record()).tries).toBe(0);
  });
});

describe('the session API fails', () => {
  test.for([
    ['R33: the answer is lost on the way', { kind: 'accept-then-cut' }, ['started', 'replayed']],
    ['the connection is cut', { kind: 'cut' }, ['started']],
    ['it does not answer in time', { kind: 'hang' }, ['started']],
    ['503', { kind: 'status', status: 503 }, ['started']],
    ['429 with Retry-After', { kind: 'status', status: 429, headers: { 'retry-after': '1' } }, ['started']],
  ] as const)('%s: repeated with the same key, one turn', async ([, fault, outcomes], { bench }) => {
    const hung = await bench.hungChat();
    bench.api.fail('POST', fault);
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(() => expect(bench.api.received.map(({ outcome }) => outcome)).toEqual(outcomes), {
      timeoutMs: 8_000,
    });
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('nudged'));
    expect(new Set(bench.api.received.map(({ key }) => key)).size).toBe(1);
    expect((await hung.chat.record()).tries).toBe(1);
  });

  test('its state cannot be asked: waited for, no counter touched', async ({ bench }) => {
    const hung = await bench.hungChat();
    bench.api.fail('GET', { kind: 'status', status: 502 }, 2);
    await bench.worker();
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1, { timeoutMs: 8_000 });
    expect(await bench.trail(hung)).toContain('deferred: api-unreachable');
  });

  test.for([401, 403, 400])(
    '%s: failed, shown, the retry given back; tried again only at a backstop',
    async (status, { bench }) => {
      const hung = await bench.hungChat();
      bench.api.fail('POST', { kind: 'status', status });
      await bench.worker();
      await bench.look(hung);
      await eventuallyPasses(async () => expect(await hung.chat.record()).toMatchObject({ state: 'failed', tries: 0 }));
      await eventually(() => bench.idle());
      expect(bench.api.received).toEqual([]);
      await bench.look(hung);
      await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    },
  );

  test.for([404, 410])('%s closes the watch', async (status, { bench }) => {
    const hung = await bench.hungChat();
    bench.api.fail('POST', { kind: 'status', status });
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () =>
      expect(await hung.chat.record()).toMatchObject({ state: 'closed', armed: false }),
    );
  });

  test('it does not know the session: the watch ends', async ({ bench }) => {
    const hung = await bench.hungChat();
    bench.api.sessions.clear();
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () =>
      expect(await hung.chat.record()).toMatchObject({ armed: false, stateReason: 'session-gone' }),
    );
    expect(bench.api.received).toEqual([]);
  });

  test('after an unknown outcome a busy answer keeps the attempt: same key, one turn, nothing lost', async ({
    bench,
  }) => {
    const hung = await bench.hungChat();
    bench.api.fail('POST', { kind: 'hang' });
    bench.api.fail('POST', { kind: 'status', status: 409 });
    await bench.worker();
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1, { timeoutMs: 10_000 });
    expect(await hung.chat.record()).toMatchObject({ tries: 1, refusals: 0 });
  });
});

describe('Continue', () => {
  test('revives a hung chat with automatic recovery off; it neither counts nor resets', async ({ bench }) => {
    const hung = await bench.hungChat({ autoReDrive: false });
    await bench.worker();
    expect(await bench.press(hung)).toMatchObject({ result: 'nudged' });
    expect(bench.api.turns(hung.chat.id)[0]?.text).toContain('Continue button');
    expect(await hung.chat.record()).toMatchObject({ state: 'nudged', tries: undefined, manuals: 1 });
  });

  test('is allowed while paused', async ({ bench }) => {
    const hung = await bench.hungChat();
    await bench.store.pause('operator');
    await bench.worker();
    expect(await bench.press(hung)).toMatchObject({ result: 'nudged' });
  });

  test('is refused with the surface off', async ({ bench }) => {
    const hung = await bench.hungChat({ surfaceKilledTask: false });
    await bench.worker();
    expect(await bench.press(hung)).toMatchObject({ result: 'surface_off' });
    expect(bench.api.received).toEqual([]);
  });

  test('is refused into a busy chat', async ({ bench }) => {
    const hung = await bench.hungChat();
    bench.api.add(hung.chat.id, { state: 'running' });
    await bench.worker();
    expect(await bench.press(hung)).toEqual({ result: 'busy', reason: 'turn-running' });
  });

  test('is refused where the chat is not hung', async ({ bench }) => {
    const hung = await bench.hungChat();
    hung.transcript.prompt('Go on.');
    hung.transcript.reply();
    await bench.worker();
    expect(await bench.press(hung)).toMatchObject({ result: 'not_hung' });
  });

  test('names the session API where that is what is away', async ({ bench }) => {
    const hung = await bench.hungChat();
    bench.api.fail('GET', { kind: 'cut' });
    await bench.worker();
    expect(await bench.press(hung)).toMatchObject({ result: 'unavailable', part: 'session-api' });
  });

  test('two presses at once: one turn', async ({ bench }) => {
    const hung = await bench.hungChat({ autoReDrive: false });
    await bench.worker();
    const results = await Promise.all([bench.press(hung), bench.press(hung)]);
    expect(bench.api.turns(hung.chat.id)).toHaveLength(1);
    expect(results).toContainEqual(expect.objectContaining({ result: 'nudged' }));
  });
});

describe('silence', () => {
  test('limbo: silent past limboTimeoutMs is shown as stuck', async ({ bench }) => {
    const hung = await bench.hungChat({ autoReDrive: false, limboTimeoutMs: 300 });
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('stuck'));
    expect(bench.api.received).toEqual([]);
  });
});
