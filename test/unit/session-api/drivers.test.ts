import { describe, expect, test } from 'vitest';
import { createDriver } from '#shared/session-api/create-driver.js';

const make = (sessionApi: { driver: 'http' | 'none'; url?: string; token?: string }) =>
  createDriver({ id: 'blue', sessionApi: { url: undefined, token: undefined, ...sessionApi } }, 1_000);

describe('the driver that a chat server’s settings ask for', () => {
  test('http sends and is idempotent', async () => {
    const driver = make({ driver: 'http', url: 'http://127.0.0.1:9' });
    expect(driver).toMatchObject({ idempotent: true, canSend: true });
    await driver.close();
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
    expect(() => make({ driver: 'http', ...(url === undefined ? {} : { url }) })).toThrow(/chat server "blue"/);
  });
});
