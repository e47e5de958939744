import { randomUUID } from 'node:crypto';
import { createDriver } from '#shared/session-api/create-driver.js';
import { createHerdctlDriver } from '#shared/session-api/herdctl/herdctl-driver.js';
import type { SessionDriver } from '#shared/session-api/driver.js';
import { createPaddockLinks } from '#shared/session-api/paddock/links.js';
import { eventually } from '../../support/events.ts';
import { HerdctlStandIn } from '../../support/herdctl-stand-in.ts';
import { describe, expect, test as base } from '../../support/leaks.ts';

const test = base.extend<{ herdctl: HerdctlStandIn; logged: string[]; driver: SessionDriver }>({
  herdctl: async ({ leaks: _leaks }, use) => {
    const herdctl = await HerdctlStandIn.start();
    await use(herdctl);
    await herdctl.close();
  },
  logged: async ({ herdctl: _herdctl }, use) => use([]),
  driver: async ({ herdctl, logged }, use) => {
    const told = (_fields: object, message: string) => void logged.push(message);
    const driver = createHerdctlDriver({
      url: herdctl.url,
      token: 'hush',
      agent: undefined,
      timeoutMs: 300,
      turnTimeoutMs: 5_000,
      log: { info: told, warn: told },
    });
    await use(driver);
    await driver.close();
  },
});

const nudge = (sessionId = randomUUID(), project = 'my agent') => ({
  sessionId,
  text: '[Paddock recovery] Go on.',
  label: 'Paddock recovery',
  idempotencyKey: 'k',
  place: { project, transcriptPath: undefined },
});

describe('a message to herdctl', () => {
  test('that is not answered has begun a turn; until it ends nothing else is said', async ({
    herdctl,
    driver,
    logged,
  }) => {
    const message = nudge();
    await driver.send(message);
    expect(herdctl.messages).toMatchObject([
      { agent: 'my agent', sessionId: message.sessionId, message: message.text, authorization: 'Bearer hush' },
    ]);
    expect(await driver.state(message.sessionId)).toMatchObject({ state: 'running' });
    expect(await driver.state(randomUUID())).toMatchObject({ state: 'idle' });
    await expect(driver.send(message)).rejects.toMatchObject({ class: 'busy', code: 'turn_running' });
    herdctl.messages[0]?.end();
    await eventually(() => logged.length > 0);
    expect(logged).toEqual(['A nudged turn of herdctl has ended.']);
    expect(await driver.state(message.sessionId)).toMatchObject({ state: 'idle' });
    expect(herdctl.messages).toHaveLength(1);
  });

  test('that is answered at once has its turn behind it', async ({ herdctl, driver }) => {
    herdctl.onMessage = ({ end }) => end();
    expect((await driver.send(nudge())).turnId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each([
    ['says that the turn failed', { success: false, error: 'no' }, { code: 'turn_failed', mayHaveArrived: true }],
    ['is 404', { status: 404 }, { class: 'gone' }],
    ['is 401', { status: 401 }, { class: 'refused', mayHaveArrived: false }],
    ['is 500', { status: 500 }, { class: 'transient', mayHaveArrived: true }],
  ] as const)('whose answer %s', async (_what, answer, failure) => {
    const herdctl = await HerdctlStandIn.start();
    herdctl.onMessage = ({ end }) => end(answer);
    const log = { info: () => undefined, warn: () => undefined };
    const driver = createHerdctlDriver({
      url: herdctl.url,
      token: undefined,
      agent: 'fixed',
      timeoutMs: 300,
      turnTimeoutMs: 5_000,
      log,
    });
    await expect(driver.send(nudge())).rejects.toMatchObject(failure);
    expect(herdctl.messages[0]?.agent).toBe('fixed');
    await driver.close();
    await herdctl.close();
  });

  test('whose connection breaks has an unknown outcome, and is not repeated', async ({ herdctl, driver }) => {
    herdctl.onMessage = ({ cut }) => cut();
    await expect(driver.send(nudge())).rejects.toMatchObject({ class: 'network', mayHaveArrived: true });
    expect(herdctl.messages).toHaveLength(1);
  });

  test('to nobody certainly did not arrive', async ({ herdctl, driver }) => {
    await driver.probe();
    await herdctl.close();
    await expect(driver.send(nudge())).rejects.toMatchObject({ class: 'network', mayHaveArrived: false });
  });

  test('for the root workspace needs an agent of its own', async ({ driver }) => {
    await expect(driver.send(nudge(randomUUID(), ''))).rejects.toMatchObject({
      class: 'refused',
      code: 'agent_unknown',
    });
  });
});

describe('a time limit longer than any timer', () => {
  test('is as long as timers go, and not none', async ({ herdctl }) => {
    const log = { info: () => undefined, warn: () => undefined };
    const driver = createDriver(
      {
        id: 'h',
        sessionApi: { driver: 'herdctl', url: herdctl.url, token: undefined, turnTimeoutMs: 365 * 86_400_000 },
      },
      { timeoutMs: 200, dataDir: '/nowhere', env: {}, log, paddock: createPaddockLinks(log) },
    );
    const message = nudge();
    await driver.send(message);
    expect(await driver.state(message.sessionId)).toMatchObject({ state: 'running' });
    await driver.close();
  });
});
