import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import type { TrailKind } from '#shared/trail/reasons.js';
import { eventually } from '../../support/events.ts';
import { Chat } from './chat.ts';
import { describe, event, expect, sessionWhen, turnEnded, type RunningWatcher, type WatcherSetup } from './harness.ts';
import { test as workerTest } from './worker-fixture.ts';

const NOTICE_SECRET = `whsec_${Buffer.from('a secret for notices in tests!!!').toString('base64')}`;

interface Received {
  id: string;
  type: string;
  data: Record<string, unknown>;
}

/** A receiver of notices that checks signatures with the independent package. */
class Receiver {
  readonly taken: Received[] = [];
  /** Answers with this instead of taking; the last one stays. */
  status = 204;
  tries = 0;
  url = '';
  readonly #server = createServer((req, res) => void this.#take(req, res));

  async open(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }
  types = (): string[] => this.taken.map(({ type }) => type);
  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
  async #take(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await text(req);
    this.tries += 1;
    if (this.status >= 300) return void res.writeHead(this.status).end('not now');
    const headers = req.headers as Record<string, string>;
    const payload = new Webhook(NOTICE_SECRET).verify(body, headers) as Omit<Received, 'id'>;
    this.taken.push({ ...payload, id: String(headers['webhook-id']) });
    res.writeHead(this.status).end();
  }
}

const TUNING: WatcherSetup['tuning'] = {
  notices: {
    everyMs: 50,
    conditionsEveryMs: 100,
    backoff: { baseMs: 50, capMs: 100, floorMs: 20 },
    limits: { windowMs: 1_000 },
  },
};

const test = workerTest.extend<{ receiver: Receiver; notifying: (more?: WatcherSetup) => Promise<RunningWatcher> }>({
  receiver: async ({ redis: _redis }, use) => {
    const receiver = new Receiver();
    await receiver.open();
    await use(receiver);
    await receiver.close();
  },
  notifying: async ({ start, receiver, redis }, use) => {
    await use(async (more = {}) => {
      const env = { NOTICE_WEBHOOK_URL: receiver.url, NOTICE_WEBHOOK_SECRET: NOTICE_SECRET, ...more.env };
      const watcher = await start({ tuning: TUNING, ...more, env });
      // What happened before the first watcher's first look is history to it.
      await eventually(async () => (await redis.client.exists(`{${redis.tag}}:notices:cursor`)) === 1);
      return watcher;
    });
  },
});

/** A line of the trail, written as the scripts write it. */
const line = (kind: TrailKind, more: Record<string, unknown> = {}) =>
  JSON.stringify({ atMs: Date.now(), sessionId: randomUUID(), server: 'default', project: 'p1', kind, ...more });

describe('outgoing notices', () => {
  test('a killed chat and its recovery: one signed notice each, with the task and no transcript path', async ({
    notifying,
    folders,
    receiver,
    worker: _worker,
  }) => {
    const watcher = await notifying({ env: { PADDOCK_RECOVERY_AUTODRIVE: '1', PADDOCK_RECOVERY_DEBOUNCE_MS: '200' } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    await chat.kill();
    await sessionWhen(watcher, chat, (body) => body.state === 'nudged', 'the nudge');
    await watcher.deliver(event('turn.started', chat, { cause: 'recovery' }));
    await chat.nudgeAndReply();
    await watcher.deliver(turnEnded(chat, { cause: 'recovery' }));
    await eventually(() => receiver.types().includes('chat.recovered'));
    const own = receiver.taken.filter(({ data }) => data['sessionId'] === chat.sessionId);
    expect(own.map(({ type }) => type)).toEqual(['chat.killed', 'chat.recovered']);
    expect(own[0]?.data).toMatchObject({
      project: 'p1',
      server: 'default',
      text: expect.stringContaining('background task'),
      tasks: [{ id: 'b1', summary: expect.stringContaining('long build') }],
    });
    expect(JSON.stringify(receiver.taken)).not.toContain(folders.transcripts);
  });

  test('each kind that people wait for, once for each episode', async ({ notifying, redis, receiver }) => {
    await notifying();
    const sessionId = randomUUID();
    const add = (entry: string) => redis.client.xadd(`{${redis.tag}}:trail`, '*', 'e', entry);
    await add(line('stuck'));
    await add(line('exhausted', { reason: 'cap-reached' }));
    for (const detail of [{ class: 'login' }, { errorClass: 'login' }])
      await add(line('error-entry', { sessionId, detail }));
    await add(line('error-entry', { sessionId, detail: { class: 'usage-limit' } }));
    await add(line('error-entry', { sessionId, detail: { class: 'overload' } }));
    await add(line('paused', { reason: 'paused-itself', sessionId: '' }));
    await add(line('paused', { sessionId: '' }));
    const killed = line('killed-task', { sessionId, detail: { notice: 'n1', tasks: [] } });
    await add(killed);
    await add(killed);
    await add('no JSON');
    await eventually(() => receiver.types().filter((type) => type !== 'workers.none').length >= 6);
    // Whatever came twice would have been sent before this one.
    await add(line('recovered'));
    await eventually(() => receiver.types().includes('chat.recovered'));
    expect(
      receiver
        .types()
        .filter((type) => type !== 'workers.none')
        .toSorted(),
    ).toEqual([
      'chat.exhausted',
      'chat.killed',
      'chat.limit_reached',
      'chat.login_needed',
      'chat.recovered',
      'chat.stuck',
      'recovery.paused_itself',
    ]);
  });

  test('200 kills at once: five notices and one digest that counts the rest', async ({
    notifying,
    redis,
    receiver,
  }) => {
    const watcher = await notifying();
    const burst = redis.client.pipeline();
    for (let n = 0; n < 200; n += 1)
      burst.xadd(`{${redis.tag}}:trail`, '*', 'e', line('killed-task', { detail: { notice: `n${n}` } }));
    await burst.exec();
    await eventually(() => receiver.types().includes('digest'));
    expect(receiver.types().filter((type) => type === 'chat.killed')).toHaveLength(5);
    const digests = receiver.taken.filter(({ type }) => type === 'digest');
    expect(digests.map(({ data }) => [data['of'], data['count'], (data['examples'] as unknown[]).length])).toEqual([
      ['chat.killed', 195, 20],
    ]);
    expect(await watcher.metrics.registry.metrics()).toContain(
      'chat_recovery_outgoing_notices_total{outcome="digested"} 195',
    );
  });

  test('two watchers: one notice', async ({ notifying, redis, receiver }) => {
    await notifying();
    await notifying();
    for (let n = 0; n < 4; n += 1) {
      await redis.client.xadd(`{${redis.tag}}:trail`, '*', 'e', line('stuck'));
      await eventually(() => receiver.types().filter((type) => type === 'chat.stuck').length === n + 1);
    }
    await redis.client.xadd(`{${redis.tag}}:trail`, '*', 'e', line('exhausted'));
    await eventually(() => receiver.types().includes('chat.exhausted'));
    expect(receiver.types().filter((type) => type === 'chat.stuck')).toHaveLength(4);
  });

  test('a receiver that is down is tried again until it takes it; recovery goes on meanwhile', async ({
    notifying,
    folders,
    api,
    receiver,
    worker: _worker,
  }) => {
    receiver.status = 503;
    const watcher = await notifying({ env: { PADDOCK_RECOVERY_AUTODRIVE: '1', PADDOCK_RECOVERY_DEBOUNCE_MS: '100' } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    await chat.kill();
    await sessionWhen(watcher, chat, (body) => body.state === 'nudged', 'the nudge');
    expect(api.messages).toHaveLength(1);
    await eventually(() => receiver.tries >= 3);
    expect(receiver.taken).toEqual([]);
    receiver.status = 200;
    await eventually(() => receiver.types().includes('chat.killed'));
    expect(receiver.types().filter((type) => type === 'chat.killed')).toHaveLength(1);
  });

  test('what happened while no watcher ran is told by the next one', async ({ notifying, redis, receiver }) => {
    const first = await notifying();
    await first.stop();
    await redis.client.xadd(`{${redis.tag}}:trail`, '*', 'e', line('exhausted'));
    await notifying();
    await eventually(() => receiver.types().includes('chat.exhausted'));
  });

  test('a session API that is down, and workers that are gone: once each, again only after they were back', async ({
    notifying,
    api,
    receiver,
  }) => {
    const watcher = await notifying({ env: { SESSION_API_URL: api.url, SESSION_API_TOKEN: 'x' } });
    await eventually(() => receiver.types().includes('workers.none'));
    expect(receiver.types()).not.toContain('session_api.down');
    const usual = api.handle;
    api.handle = (_req, res) => void res.destroy();
    await eventually(() => receiver.types().includes('session_api.down'));
    const gauge = async () =>
      (await watcher.metrics.registry.metrics()).match(/chat_recovery_session_api_up\{server="default"\} (\d)/)?.[1];
    expect(await gauge()).toBe('0');
    api.handle = usual;
    await eventually(async () => (await gauge()) === '1');
    api.handle = (_req, res) => void res.destroy();
    await eventually(() => receiver.types().filter((type) => type === 'session_api.down').length === 2);
    expect(receiver.types().filter((type) => type === 'workers.none')).toHaveLength(1);
  });

  test('one that says it is gone gets nothing again', async ({ notifying, redis, receiver }) => {
    receiver.status = 410;
    await notifying();
    await redis.client.xadd(`{${redis.tag}}:trail`, '*', 'e', line('stuck'));
    await eventually(async () => receiver.tries > 0 && (await redis.client.hlen(`{${redis.tag}}:notices:items`)) === 0);
    receiver.status = 200;
    await redis.client.xadd(`{${redis.tag}}:trail`, '*', 'e', line('exhausted'));
    await eventually(() => receiver.types().includes('chat.exhausted'));
    expect(receiver.types()).not.toContain('chat.stuck');
  });

  test('every key of it ends by itself', async ({ notifying, redis, receiver }) => {
    await notifying();
    await redis.client.xadd(`{${redis.tag}}:trail`, '*', 'e', line('stuck'));
    await eventually(() => receiver.types().includes('chat.stuck'));
    const keys = await redis.client.keys(`{${redis.tag}}:notices:*`);
    expect(keys.length).toBeGreaterThan(2);
    for (const key of keys) expect([key, await redis.client.pttl(key)]).toEqual([key, expect.any(Number)]);
    expect(await Promise.all(keys.map((key) => redis.client.pttl(key)))).not.toContain(-1);
  });
});
