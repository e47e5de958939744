import { eventually, eventuallyPasses } from '../../support/events.ts';
import { DEBOUNCE_MS, describe, expect, test } from './support.ts';

describe('a hung chat is nudged once', () => {
  test('found by the backstop alone, after the debounce, with a text that names the task', async ({ bench }) => {
    const hung = await bench.hungChat();
    await bench.worker();
    const startedMs = Date.now();
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    const [message] = bench.api.turns(hung.chat.id);
    expect((message?.atMs ?? 0) - startedMs).toBeGreaterThanOrEqual(DEBOUNCE_MS);
    expect(message?.text).toMatch(/^\[Paddock recovery\] /);
    expect(message?.text).toContain(hung.task.taskId);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('nudged'));
    expect((await hung.chat.record()).tries).toBe(1);
    expect(message?.key).toBe((await hung.chat.record()).attempt?.id);
  });

  test('R35: two workers and ten evaluations at once: one turn', async ({ bench }) => {
    const hung = await bench.hungChat();
    await Promise.all([bench.worker(), bench.worker()]);
    await Promise.all(Array.from({ length: 10 }, () => bench.look(hung)));
    await eventually(() => bench.api.turns(hung.chat.id).length > 0);
    await eventually(() => bench.idle(), { timeoutMs: 8_000 });
    expect(bench.api.received.map(({ outcome }) => outcome)).toEqual(['started']);
  });

  test('its reply makes it recovered', async ({ bench }) => {
    const hung = await bench.hungChat();
    bench.api.onTurn = ({ text }) => {
      hung.transcript.prompt(text);
      hung.transcript.reply();
    };
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('recovered'));
    expect(await bench.trail(hung)).toEqual([
      'turn-ended: armed',
      'killed-task',
      'claimed',
      'sending',
      'nudged',
      'recovered',
    ]);
  });

  test('R33: no entry follows the accepted nudge: unconfirmed, and not repeated', async ({ bench }) => {
    const hung = await bench.hungChat({ maxRetries: 5 });
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('unconfirmed'));
    bench.api.add(hung.chat.id);
    await bench.look(hung);
    await eventually(() => bench.idle());
    expect(bench.api.turns(hung.chat.id)).toHaveLength(1);
  });

  test('R32: hung again after the nudge: exhausted, no second one', async ({ bench }) => {
    const hung = await bench.hungChat();
    bench.api.onTurn = ({ text }) => hung.transcript.prompt(text);
    await bench.worker({ NUDGE_CONFIRM_MS: '60000' });
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    const task = hung.transcript.launch();
    hung.transcript.reply('Waiting for it.');
    hung.transcript.notice(task);
    bench.api.add(hung.chat.id);
    await hung.chat.turnEnded(
      60,
      { cause: 'recovery' },
      { arm: { path: hung.transcript.path, armed: true, auto: true, reason: 'armed' } },
    );
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('exhausted'));
    expect(bench.api.turns(hung.chat.id)).toHaveLength(1);
  });
});

describe('a chat that is fine is never nudged', () => {
  test('a clean transcript ends the job without touching the record', async ({ bench, redis }) => {
    const hung = await bench.hungChat();
    hung.transcript.prompt('Go on.');
    hung.transcript.reply();
    const before = await redis.client.hgetall(`{${redis.tag}}:s:${hung.chat.id}`);
    await bench.worker();
    await bench.look(hung);
    await eventually(() => bench.idle());
    expect(await redis.client.hgetall(`{${redis.tag}}:s:${hung.chat.id}`)).toEqual(before);
    expect(bench.api.received).toEqual([]);
  });

  test('a wake inside the debounce stands it down', async ({ bench }) => {
    const hung = await bench.hungChat({ debounceMs: 600 });
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('killed'));
    hung.transcript.prompt('Never mind.');
    hung.transcript.reply();
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('watching'));
    expect(bench.api.received).toEqual([]);
  });

  test.for([
    ['turn-running', { state: 'running' }],
    ['waiting', { state: 'waiting' }],
    ['queued-follow-up', { queuedFollowUp: true }],
  ] as const)('the session API says %s: deferred, then nudged once it is free', async ([reason, status], { bench }) => {
    const hung = await bench.hungChat();
    const session = bench.api.add(hung.chat.id, status);
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.trail(hung)).toContain(`deferred: ${reason}`));
    expect(bench.api.received).toEqual([]);
    Object.assign(session, { state: 'idle', queuedFollowUp: false });
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    expect((await hung.chat.record()).tries).toBe(1);
  });

  test('a 409 gives the retry back; the next attempt has a new key', async ({ bench }) => {
    const hung = await bench.hungChat();
    bench.api.fail('POST', { kind: 'status', status: 409 });
    await bench.worker();
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    await eventuallyPasses(async () =>
      expect(await hung.chat.record()).toMatchObject({ tries: 1, refusals: 1, state: 'nudged' }),
    );
    expect(await bench.trail(hung)).toContain('refused: turn-running');
  });

  test.for([
    ['opt-in', { autoReDrive: false }, 'shown-only: auto-off'],
    ['maxRetries 0', { maxRetries: 0 }, 'shown-only: retries-zero'],
  ] as const)('%s', async ([, settings, line], { bench }) => {
    const hung = await bench.hungChat(settings);
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.trail(hung)).toContain(line));
    await eventually(() => bench.idle());
    expect(bench.api.received).toEqual([]);
    expect(await bench.state(hung)).toBe('killed');
  });

  test('a human message between decision and call voids it', async ({ bench }) => {
    const hung = await bench.hungChat({ debounceMs: 400 });
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('killed'));
    await hung.chat.human(5);
    await eventually(() => bench.idle());
    expect(bench.api.received).toEqual([]);
    expect(await hung.chat.record()).toMatchObject({ tries: 0, notice: undefined });
  });

  test('dry run does everything but the call, once per notice, and no counter moves', async ({ bench }) => {
    const hung = await bench.hungChat();
    await bench.worker({ RECOVERY_DRY_RUN: '1' });
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.trail(hung)).toContain('would-nudge: dry-run'));
    await bench.look(hung);
    await eventually(() => bench.idle());
    const trail = await bench.trail(hung);
    expect(trail.filter((line) => line.startsWith('would-nudge'))).toHaveLength(1);
    expect(bench.api.received).toEqual([]);
    expect((await hung.chat.record()).tries).toBeUndefined();
  });

  test('a notice older than the age limit is shown, not nudged', async ({ bench }) => {
    const hung = await bench.hungChat();
    await bench.worker({ RECOVERY_MAX_NOTICE_AGE_MS: '0' });
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.trail(hung)).toContain('shown-only: notice-too-old'));
    expect(bench.api.received).toEqual([]);
  });

  test('a worker that has just started lets things settle', async ({ bench }) => {
    const hung = await bench.hungChat({ debounceMs: 0 });
    const startedMs = Date.now();
    await bench.worker({ RECOVERY_SETTLE_MS: '1200' });
    await bench.look(hung);
    await eventually(() => bench.api.turns(hung.chat.id).length === 1);
    expect((bench.api.turns(hung.chat.id)[0]?.atMs ?? 0) - startedMs).toBeGreaterThanOrEqual(1_150);
  });
});

describe('the off switch', () => {
  test('holds a nudge that is already due, and lets it go afterwards', async ({ bench }) => {
    const hung = await bench.hungChat();
    await bench.store.pause('operator');
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.trail(hung)).toContain('deferred: paused'));
    expect(bench.api.received).toEqual([]);
    await bench.store.resume('operator');
    await eventually(() => bench.api.turns(hung.chat.id).length === 1, { timeoutMs: 8_000 });
  });

  test('for one chat: its pending work is void', async ({ bench }) => {
    const hung = await bench.hungChat({ debounceMs: 400 });
    await bench.worker();
    await bench.look(hung);
    await eventuallyPasses(async () => expect(await bench.state(hung)).toBe('killed'));
    await bench.store.endWatch(hung.chat.id, 'watch-ended');
    await eventually(() => bench.idle());
    expect(bench.api.received).toEqual([]);
    expect(await bench.state(hung)).toBe('idle');
  });
});
