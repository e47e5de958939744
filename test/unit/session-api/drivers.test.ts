import { describe, expect, test } from 'vitest';
import { createDriver } from '#shared/session-api/create-driver.js';
import { createDrivers } from '#shared/session-api/drivers.js';
import { createPaddockLinks } from '#shared/session-api/paddock/links.js';
import { loadSettings } from '#shared/settings/environment.js';
import type { SessionApiSettings } from '#shared/settings/session-api.js';

const log = { info: () => undefined, warn: () => undefined };
const surroundings = { timeoutMs: 1_000, dataDir: '/nowhere', env: {}, log, paddock: createPaddockLinks(log) };
const make = (sessionApi: Partial<SessionApiSettings> & Pick<SessionApiSettings, 'driver'>) =>
  createDriver({ id: 'blue', sessionApi: { url: undefined, token: undefined, ...sessionApi } }, surroundings);

describe('the driver that a chat server’s settings ask for', () => {
  test('http sends and is idempotent', async () => {
    const driver = make({ driver: 'http', url: 'http://127.0.0.1:9' });
    expect(driver).toMatchObject({ idempotent: true, canSend: true });
    await driver.close();
  });

  test.each(['exec', 'paddock', 'herdctl'] as const)('%s sends and is not idempotent', async (driver) => {
    const made = make({ driver, url: 'http://127.0.0.1:9', send: ['true'] });
    expect(made).toMatchObject({ idempotent: false, canSend: true });
    await made.close();
  });

  test('none only shows: its calls refuse for good, and never say "unknown session"', async () => {
    const driver = make({ driver: 'none' });
    expect(driver).toMatchObject({ idempotent: false, canSend: false });
    const refusal = { class: 'refused', code: 'no_session_api', mayHaveArrived: false };
    await expect(driver.state('7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11')).rejects.toMatchObject(refusal);
    await driver.probe();
    await driver.close();
  });

  test.each([undefined, 'nowhere', 'ftp://host/x'])('address %j is refused with the chat server’s name', (url) => {
    for (const driver of ['http', 'paddock', 'herdctl'] as const) {
      expect(() => make({ driver, ...(url === undefined ? {} : { url }) })).toThrow(/chat server "blue"/);
    }
  });
});

describe('the drivers of a deployment', () => {
  test('are one for each chat server, and one more for a project that is reached another way', async () => {
    const { settings } = loadSettings(
      { HOME: '/h' },
      {
        chatServers: [
          {
            id: 'a',
            sessionApi: {
              url: 'http://x',
              projects: { '': { driver: 'none' }, cli: { driver: 'exec', send: ['x'] }, over: { url: 'http://y' } },
            },
          },
          { id: 'b' },
        ],
      },
    );
    const drivers = createDrivers(settings, surroundings);
    expect(drivers.of('a', 'any')).toMatchObject({ idempotent: true });
    expect(drivers.of('a', 'any')).toBe(drivers.of('a', 'other'));
    expect(drivers.of('a', '')).toMatchObject({ canSend: false });
    expect(drivers.of('a', 'cli')).toMatchObject({ canSend: true, idempotent: false });
    expect(drivers.of('b', 'cli')).toMatchObject({ canSend: false });
    expect(drivers.of('c', '')).toBeUndefined();
    expect(drivers.remote().map(({ serverId }) => serverId)).toEqual(['a', 'a/over', 'b']);
    await drivers.close();
  });
});
