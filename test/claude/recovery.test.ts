import { Deployment, entriesOf, nudgesIn, type DeploymentOptions } from '../support/deployment.ts';
import { eventually, eventuallyPasses } from '../support/events.ts';
import { startFakeMessagesApi, type FakeMessagesApi } from '../support/fake-messages-api.ts';
import { describe, expect, test as redisTest } from '../support/redis.ts';

/** Real Claude Code takes seconds to start; a fake model answers at once. */
const PATIENCE = { timeoutMs: 90_000 };

const test = redisTest.extend<{
  model: FakeMessagesApi;
  start: (options?: Partial<DeploymentOptions>) => Promise<Deployment>;
}>({
  model: async ({ task: _task }, use) => {
    const model = await startFakeMessagesApi();
    await use(model);
    await model.close();
  },
  start: async ({ redis, model }, use) => {
    const started: Deployment[] = [];
    await use(async (options = {}) => {
      const deployment = await Deployment.start({
        redisUrl: redis.url,
        tag: redis.tag,
        chatServerEnv: {
          RUNTIME: 'claude',
          ANTHROPIC_BASE_URL: model.url,
          ANTHROPIC_API_KEY: 'fake',
          CLAUDE_PERMISSION_MODE: 'bypassPermissions',
          CLAUDE_MODEL: 'claude-sonnet-4-5',
        },
        recovery: { autoReDrive: true, debounceMs: 2_000 },
        ...options,
      });
      started.push(deployment);
      return deployment;
    });
    await Promise.all(started.map((deployment) => deployment.stop()));
  },
});

async function taskOf(deployment: Deployment, sessionId: string): Promise<string> {
  return eventually(async () => {
    const chat = (await deployment.chats(`/chats/${sessionId}`)) as { state: string; tasks: { id: string }[] };
    return chat.state === 'idle' ? chat.tasks[0]?.id : undefined;
  }, PATIENCE);
}

/** Position of the first entry after the kill that is each of these; -1 where there is none. */
function killNudgeReply(path: string): number[] {
  const entries = entriesOf(path);
  const kill = entries.findIndex(
    ({ operation, content }) => operation === 'enqueue' && content?.includes('<status>killed</status>'),
  );
  const nudge = entries.findIndex(
    ({ type, message }) => type === 'user' && JSON.stringify(message).includes('[Paddock recovery]'),
  );
  const reply = entries.findIndex(({ type }, index) => index > nudge && type === 'assistant');
  return [kill, nudge, reply];
}

describe('real Claude Code', () => {
  test('a background shell killed after the turn hangs the chat: nudged once, it replies; kill, nudge, reply in that order', async ({
    start,
  }) => {
    const deployment = await start();
    const chat = await deployment.createChat('', { script: undefined, prompt: 'BG::sleep 600' });
    const taskId = await taskOf(deployment, chat.sessionId);
    await deployment.chats(`/chats/${chat.sessionId}/tasks/${taskId}/kill`, 'POST');
    await eventuallyPasses(
      async () => expect((await deployment.session(chat.sessionId)).state).toBe('recovered'),
      PATIENCE,
    );
    expect(nudgesIn(chat.transcriptPath)).toBe(1);
    const order = killNudgeReply(chat.transcriptPath);
    expect(order.every((position) => position >= 0)).toBe(true);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('a task that completes wakes its chat by itself: left alone', async ({ start }) => {
    const deployment = await start({ env: { RECOVERY_SETTLE_MS: '0' } });
    const chat = await deployment.createChat('', { script: undefined, prompt: 'BG::sleep 2' });
    await eventually(
      () => entriesOf(chat.transcriptPath).some(({ origin }) => origin?.kind === 'task-notification'),
      PATIENCE,
    );
    await eventuallyPasses(async () => {
      const { trail } = await deployment.session(chat.sessionId);
      expect(trail.filter(({ kind }) => kind === 'turn-ended').length).toBeGreaterThanOrEqual(2);
    }, PATIENCE);
    const session = await deployment.session(chat.sessionId);
    expect(session.trail.map(({ kind }) => kind)).not.toContain('claimed');
    expect(nudgesIn(chat.transcriptPath)).toBe(0);
  });

  test('a person writes first: recovery stands down', async ({ start }) => {
    const deployment = await start({ recovery: { autoReDrive: true, debounceMs: 6_000 } });
    const chat = await deployment.createChat('', { script: undefined, prompt: 'BG::sleep 600' });
    const taskId = await taskOf(deployment, chat.sessionId);
    await deployment.chats(`/chats/${chat.sessionId}/tasks/${taskId}/kill`, 'POST');
    await eventuallyPasses(
      async () => expect((await deployment.session(chat.sessionId)).state).toBe('killed'),
      PATIENCE,
    );
    await deployment.chats(`/chats/${chat.sessionId}/messages`, 'POST', { text: 'Never mind, what is left?' });
    await eventuallyPasses(async () => {
      const { trail, state } = await deployment.session(chat.sessionId);
      expect(trail.map(({ kind }) => kind)).toContain('human-message');
      expect(state).toBe('watching');
    }, PATIENCE);
    // The evaluation of the old notice was due 6 s after it: it has ended without a claim once the queue is empty of it.
    await eventuallyPasses(async () => {
      const { trail } = await deployment.session(chat.sessionId);
      expect(trail.filter(({ kind }) => kind === 'turn-ended').length).toBeGreaterThanOrEqual(2);
      expect(trail.map(({ kind }) => kind)).not.toContain('claimed');
    }, PATIENCE);
    expect(nudgesIn(chat.transcriptPath)).toBe(0);
  });
});
