import { createMetrics } from '#shared/platform/metrics.js';
import { listenWorker } from '../../../services/recovery-worker/http.ts';
import { describe, expect, test } from '../../support/redis.ts';

const start = (adminToken: string | undefined) => {
  const metrics = createMetrics();
  metrics.decisions.inc({ reason: 'nudged' });
  return listenWorker({ settings: { host: '127.0.0.1', workerPort: 0, adminToken }, metrics, active: () => 2 });
};

describe('a worker’s own port', () => {
  test('health is open, metrics are behind the admin token, and there is nothing else', async () => {
    const server = await start('the admin token of this test');
    const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
      const answer = await fetch(`${server.url}${path}`, { headers, method });
      return { status: answer.status, text: await answer.text() };
    };
    expect(await get('/healthz')).toEqual({ status: 200, text: '{"status":"ok","active":2}' });
    expect(await get('/metrics')).toMatchObject({ status: 401, text: expect.stringContaining('"unauthorized"') });
    expect(await get('/metrics', { authorization: 'Bearer wrong' })).toMatchObject({ status: 401 });
    const shown = await get('/metrics', { authorization: 'Bearer the admin token of this test' });
    expect(shown.text).toContain('chat_recovery_decisions_total{reason="nudged"} 1');
    expect((await get('/')).status).toBe(404);
    expect((await get('/metrics', {}, 'POST')).status).toBe(405);
    await server.close();
  });

  test('without a token it is open, on loopback', async () => {
    const server = await start(undefined);
    const answer = await fetch(`${server.url}/metrics`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
    await answer.text();
    await server.close();
  });
});
