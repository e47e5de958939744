import { checkConformance, CHECKS } from '../../../cli/conformance/conformance.ts';
import { listenForWebhooks, type WebhookEar } from '../../../cli/conformance/webhook-ear.ts';
import type { CheckResult } from '../../../cli/conformance/check.ts';
import { brokenApi, brokenPost, BROKEN, BROKEN_WEBHOOKS } from '../../support/broken-chat-servers.ts';
import { describe, expect } from '../../support/leaks.ts';
import { createChat, happened, SECRET, test, type World } from '../chat-server/world.ts';

const TOKEN = 'right';

async function withEar<T>(use: (ear: WebhookEar) => Promise<T>): Promise<T> {
  const ear = await listenForWebhooks({ port: 0, secret: SECRET });
  try {
    return await use(ear);
  } finally {
    await ear.close();
  }
}

/** The kit against the example chat server, with something in between. */
async function check(
  world: World,
  between: {
    api?: (url: string) => Promise<{ url: string; close(): Promise<void> }>;
    post?: typeof between.api;
    only?: string[];
  } = {},
): Promise<CheckResult[]> {
  return withEar(async (ear) => {
    const post = await between.post?.(ear.url.replace('/v1/events', ''));
    const webhook = { url: post === undefined ? ear.url : `${post.url}/v1/events`, secret: SECRET };
    const server = await world.start({ token: TOKEN, webhook });
    const api = await between.api?.(server.url);
    const setup = { url: `${server.url}/conformance` };
    const results = await checkConformance({
      url: api?.url ?? server.url,
      token: TOKEN,
      setup,
      webhooks: ear,
      only: between.only,
      waitMs: 1_500,
    });
    await server.close();
    await api?.close();
    await post?.close();
    return results;
  });
}

const broken = (results: readonly CheckResult[]): string[] =>
  results.filter(({ verdict }) => verdict === 'broken').map(({ id }) => id);

describe('the conformance kit', () => {
  test('finds the example chat server to keep every point', async ({ world }) => {
    const results = await check(world);
    expect(results.filter(({ verdict }) => verdict !== 'kept')).toEqual([]);
    expect(results).toHaveLength(CHECKS.length);
  });

  test('checks what it can with one session alone, and says what it could not', async ({ world }) => {
    const server = await world.start();
    const { sessionId } = await createChat(server, { script: 'plain' });
    await happened(server, sessionId, 'turn.ended');
    const results = await checkConformance({ url: server.url, setup: { session: sessionId }, waitMs: 2_000 });
    expect(broken(results)).toEqual([]);
    const unchecked = results.filter(({ verdict }) => verdict === 'not-checked').map(({ id }) => id);
    expect(unchecked).toEqual(
      expect.arrayContaining(['state-waiting', 'busy-queued', 'keys-apart', 'webhook-turn', 'token']),
    );
    expect(unchecked).not.toContain('key-remembered');
  });

  test('has a consequence in words for each point, under a name of its own', () => {
    expect(new Set(CHECKS.map(({ id }) => id)).size).toBe(CHECKS.length);
    for (const { title, consequence } of CHECKS) expect(Math.min(title.length, consequence.length)).toBeGreaterThan(20);
  });
});

const API_CHECKS = CHECKS.map(({ id }) => id).filter((id) => !id.startsWith('webhook'));

describe('a chat server that', () => {
  for (const [what, { faults, also = [], make }] of Object.entries(BROKEN)) {
    test(`${what} is told so`, async ({ world }) => {
      const results = await check(world, { api: (url) => brokenApi(url, make()), only: API_CHECKS });
      expect(broken(results).filter((id) => !also.includes(id))).toEqual([...faults]);
    });
  }
  for (const [what, { faults, also = [], make }] of Object.entries(BROKEN_WEBHOOKS)) {
    test(`${what} is told so`, async ({ world }) => {
      const results = await check(world, { post: (url) => brokenPost(url, make()), only: ['webhook'] });
      expect(broken(results).filter((id) => !also.includes(id))).toEqual([...faults]);
    });
  }
});
