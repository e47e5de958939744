import { Deployment, nudgesIn, type DeploymentOptions } from '../support/deployment.ts';
import { eventually, eventuallyPasses } from '../support/events.ts';
import { describe, expect, test as redisTest } from '../support/redis.ts';

const test = redisTest.extend<{ start: (options?: Partial<DeploymentOptions>) => Promise<Deployment> }>({
  start: async ({ redis }, use) => {
    const started: Deployment[] = [];
    await use(async (options = {}) => {
      const deployment = await Deployment.start({ redisUrl: redis.url, tag: redis.tag, ...options });
      started.push(deployment);
      return deployment;
    });
    await Promise.all(started.map((deployment) => deployment.stop()));
  },
});

describe('watcher, workers and a chat server as separate processes', () => {
  test('a hung chat is nudged once and answers; a healthy one beside it is left alone', async ({ start }) => {
    const deployment = await start();
    const [hung, healthy] = await Promise.all([deployment.createChat('hang'), deployment.createChat('healthy')]);
    await eventuallyPasses(async () => expect((await deployment.session(hung.sessionId)).state).toBe('recovered'), {
      timeoutMs: 20_000,
    });
    expect(nudgesIn(hung.transcriptPath)).toBe(1);
    expect(nudgesIn(healthy.transcriptPath)).toBe(0);
    const kinds = (await deployment.session(hung.sessionId)).trail.map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['turn-ended', 'killed-task', 'claimed', 'nudged', 'recovered']));
    expect(kinds.filter((kind) => kind === 'nudged')).toHaveLength(1);
  });

  test('automatic recovery off: surfaced, not nudged; Continue revives it; surface off: 403', async ({ start }) => {
    const deployment = await start({ recovery: { autoReDrive: false, debounceMs: 300 } });
    const hung = await deployment.createChat('hang');
    await eventuallyPasses(async () => expect((await deployment.session(hung.sessionId)).state).toBe('killed'), {
      timeoutMs: 20_000,
    });
    await deployment.api('/v1/projects/demo/recovery', 'PATCH', { surfaceKilledTask: false });
    expect((await deployment.api(`/v1/sessions/${hung.sessionId}/continue`, 'POST')).status).toBe(403);
    await deployment.api('/v1/projects/demo/recovery', 'PATCH', { surfaceKilledTask: null });
    expect(nudgesIn(hung.transcriptPath)).toBe(0);
    const pressed = await deployment.api(`/v1/sessions/${hung.sessionId}/continue`, 'POST');
    expect(pressed.status).toBe(200);
    await eventually(() => nudgesIn(hung.transcriptPath) === 1);
    await eventuallyPasses(async () => expect((await deployment.session(hung.sessionId)).state).toBe('recovered'));
  });

  test('settings edited on disk take effect on a watch that is already armed', async ({ start }) => {
    const deployment = await start({ recovery: { autoReDrive: false, debounceMs: 300 } });
    const hung = await deployment.createChat('hang');
    await eventuallyPasses(async () => expect((await deployment.session(hung.sessionId)).state).toBe('killed'), {
      timeoutMs: 20_000,
    });
    deployment.setRecovery({ autoReDrive: true, debounceMs: 300 });
    await eventually(() => nudgesIn(hung.transcriptPath) === 1, { timeoutMs: 20_000 });
  });

  test('kill -9 of watcher and workers between turn end and kill, restart: nudged once', async ({ start }) => {
    const deployment = await start({ chatServerEnv: { KILL_MS: '2500' } });
    const hung = await deployment.createChat('hang');
    await eventuallyPasses(async () => expect((await deployment.session(hung.sessionId)).state).toBe('watching'), {
      timeoutMs: 20_000,
    });
    await Promise.all(deployment.services().map((process) => process.stop('SIGKILL')));
    await eventually(
      async () => ((await deployment.chats(`/chats/${hung.sessionId}`)) as { tasks: unknown[] }).tasks.length === 0,
      {
        timeoutMs: 10_000,
      },
    );
    await deployment.startServices();
    await eventually(() => nudgesIn(hung.transcriptPath) === 1, { timeoutMs: 30_000 });
    await eventuallyPasses(async () => expect((await deployment.session(hung.sessionId)).state).toBe('recovered'), {
      timeoutMs: 20_000,
    });
    expect(nudgesIn(hung.transcriptPath)).toBe(1);
  });
});
