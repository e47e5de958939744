import { silentLogger } from '#shared/platform/logger.js';
import { closeRedis, createRedis } from '#shared/platform/redis.js';
import { sessionKeys } from '#shared/session/keys.js';
import { openStream, type EventStream } from '../../support/event-stream.ts';
import { eventually } from '../../support/events.ts';
import { canIsolateRedis, isolatedRedis } from '../../support/isolated-redis.ts';
import { Chat } from './chat.ts';
import { ADMIN, event, expect, test, turnEnded, type RunningWatcher } from './harness.ts';

const SURFACE_ONLY = { PADDOCK_RECOVERY_AUTODRIVE: 'false' };

function listen(watcher: RunningWatcher, query = '', headers: Record<string, string> = {}): Promise<EventStream> {
  return openStream(`${watcher.url}/v1/events/stream${query}`, { authorization: `Bearer ${ADMIN}`, ...headers });
}

const names = (stream: EventStream): string[] => stream.events.map((each) => each.event);
const ids = (stream: EventStream): string[] => stream.events.flatMap((each) => each.id ?? []);
/** Ids of the trail's own events, without those that speak of the stream. */
const trailIds = (stream: EventStream): string[] =>
  stream.events.flatMap((each) => (/^(chat|recovery)\./.test(each.event) ? [each.id ?? ''] : []));

test('a killed task is told live, by name, in words, with headers that no proxy buffers', async ({
  start,
  folders,
}) => {
  const watcher = await start({ env: SURFACE_ONLY });
  const stream = await listen(watcher);
  expect(stream.status).toBe(200);
  expect(stream.headers).toMatchObject({
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  const chat = new Chat(folders.transcripts);
  await chat.begin();
  await watcher.deliver(turnEnded(chat));
  await chat.kill();
  const told = await stream.event(({ event: name }) => name === 'chat.killed_task');
  expect(told.data).toMatchObject({
    event: 'chat.killed_task',
    id: told.id,
    sessionId: chat.sessionId,
    server: 'default',
    project: 'p1',
    kind: 'killed-task',
    text: 'A background task was ended, and nothing has answered that.',
  });
  expect(names(stream).slice(0, 2)).toEqual(['open', 'chat.changed']);
  stream.close();
});

test('filters by project, server and session; pause and resume are told to everybody', async ({ start, folders }) => {
  const watcher = await start({ env: SURFACE_ONLY });
  const chats = [new Chat(folders.transcripts), new Chat(folders.transcripts)] as const;
  for (const chat of chats) await chat.begin();
  const one = await listen(watcher, `?session=${chats[0].sessionId}`);
  const project = await listen(watcher, '?project=other');
  const server = await listen(watcher, '?server=elsewhere');
  const all = await listen(watcher);
  await watcher.deliver(turnEnded(chats[0]));
  await watcher.deliver(turnEnded(chats[1], { project: 'other' }));
  await watcher.call('/v1/pause', { method: 'POST' });
  for (const stream of [one, project, server, all]) await stream.event((each) => each.event === 'recovery.paused');
  const sessions = (stream: EventStream) =>
    stream.events.filter((each) => each.event.startsWith('chat.')).map((each) => each.data['sessionId']);
  expect(sessions(one)).toEqual([chats[0].sessionId]);
  expect(sessions(project)).toEqual([chats[1].sessionId]);
  expect(sessions(server)).toEqual([]);
  expect(sessions(all)).toEqual([chats[0].sessionId, chats[1].sessionId]);
  for (const stream of [one, project, server, all]) stream.close();
});

test('a client that drops and comes back to another watcher misses nothing and is told nothing twice', async ({
  start,
}) => {
  const [first, second] = [await start(), await start()];
  const whole = await listen(first);
  let stream = await listen(first);
  const seen: string[] = [];
  const chat = { sessionId: '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11' };
  // 60 events while the client drops six times, each time in the middle of the stream, and goes to the other watcher.
  const writing = (async () => {
    for (let at = 0; at < 60; at += 1) {
      const told = event('turn.started', chat, { cause: 'human' }, Date.now() + at);
      await (at % 2 === 0 ? first : second).deliver(told);
    }
  })();
  for (let round = 0; round < 6; round += 1) {
    const had = stream;
    await eventually(() => trailIds(had).length >= 3, { what: 'some events' });
    had.close();
    seen.push(...trailIds(had));
    const lastId = seen.at(-1) ?? '';
    stream = await listen(round % 2 === 0 ? second : first, '', { 'last-event-id': lastId });
    if (round === 4) await writing; // the last pause is a long one: everything is caught up from Redis
  }
  await eventually(() => seen.length + trailIds(stream).length >= 60, { what: 'all events' });
  await eventually(() => trailIds(whole).length >= 60, { what: 'all events, undisturbed' });
  expect([...seen, ...trailIds(stream)]).toEqual(trailIds(whole));
  expect(new Set(trailIds(whole)).size).toBe(60);
  for (const each of [whole, stream]) each.close();
});

test('an id that the stream has trimmed away, or never gave, is answered with a reset', async ({ start, redis }) => {
  const watcher = await start();
  await watcher.deliver(
    event('turn.started', { sessionId: '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11' }, { cause: 'human' }),
  );
  const before = await listen(watcher, '', { 'last-event-id': '0-0' });
  await before.event((each) => each.event === 'chat.changed');
  expect(names(before)).toEqual(['open', 'chat.changed']); // nothing was lost: everything is told
  const { trail } = sessionKeys(redis.tag);
  await watcher.store.pause('a test');
  await redis.client.xtrim(trail, 'MAXLEN', 1);
  const trimmed = await listen(watcher, '', { 'last-event-id': '0-0' });
  const ahead = await listen(watcher, '?lastEventId=999999999999999-0');
  for (const stream of [trimmed, ahead]) {
    await stream.event((each) => each.event === 'reset');
    expect(names(stream)).toEqual(['open', 'reset']);
    expect(ids(stream)[1]).toBe(ids(stream)[0]);
  }
  for (const stream of [before, trimmed, ahead]) stream.close();
});

test('a bad id or filter is refused with its name', async ({ start }) => {
  const watcher = await start();
  const answers = await Promise.all([
    watcher.call('/v1/events/stream', { headers: { 'last-event-id': 'yesterday' } }),
    watcher.call('/v1/events/stream?session=7'),
    watcher.call('/v1/events/stream?lastEventId=7'),
    watcher.call('/v1/stats?window=1y'),
  ]);
  const fields = await Promise.all(answers.map(async (answer) => ((await answer.json()) as { field: string }).field));
  expect(answers.map(({ status }) => status)).toEqual([422, 422, 422, 422]);
  expect(fields).toEqual(['Last-Event-ID', 'session', 'lastEventId', 'window']);
});

test('a listener that takes nothing is dropped; the others are told on, and it may come back', async ({ start }) => {
  const watcher = await start();
  const slow = await listen(watcher);
  const quick = await listen(watcher);
  slow.pause();
  const chat = { sessionId: '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11' };
  await watcher.deliver(event('turn.started', chat, { cause: 'human' }));
  // Bulky lines fill what the system keeps for the socket, and then our bound.
  let written = 0;
  const bulk = 'x'.repeat(16_000);
  await eventually(
    async () => {
      for (let at = 0; at < 20; at += 1, written += 1) {
        await watcher.store.note(chat.sessionId, { kind: 'deferred', reason: 'waiting', detail: { bulk } });
      }
      return watcher.live.listeners === 1;
    },
    { what: 'the slow listener to be dropped', timeoutMs: 20_000 },
  );
  slow.resume();
  await eventually(() => slow.ended, { what: 'its end' });
  await eventually(() => names(quick).filter((name) => name === 'chat.deferred').length === written, {
    what: 'every event at the quick one',
  });
  const back = await listen(watcher, '', { 'last-event-id': slow.lastId() ?? '' });
  await eventually(() => back.lastId() === quick.lastId(), {
    what: 'the dropped one to have caught up',
    timeoutMs: 10_000,
  });
  expect([...trailIds(slow), ...trailIds(back)]).toEqual(trailIds(quick));
  for (const stream of [quick, back]) stream.close();
});

test('the streams end with a word when the watcher stops', async ({ start }) => {
  const watcher = await start();
  const stream = await listen(watcher);
  await stream.event((each) => each.event === 'open');
  watcher.drain();
  await eventually(() => stream.ended, { what: 'the end' });
  expect(names(stream)).toEqual(['open', 'closing']);
  expect((await listen(watcher)).status).toBe(503);
});

test('counts hangs, nudges and recoveries, those from before it was asked and those since', async ({
  start,
  folders,
}) => {
  const watcher = await start({ env: SURFACE_ONLY });
  const stats = async (query = '') =>
    (await (await watcher.call(`/v1/stats${query}`)).json()) as {
      totals: Record<string, number>;
      buckets: { atMs: number; hangs: number }[];
      bucketMs: number;
      incompleteBeforeMs: number | null;
    };
  const hang = async (): Promise<void> => {
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    await chat.kill();
  };
  await hang();
  await eventually(async () => (await stats()).totals['hangs'] === 1, { what: 'the first' });
  await hang();
  const { totals, buckets, bucketMs, incompleteBeforeMs } = await eventually(
    async () => {
      const answer = await stats();
      return answer.totals['hangs'] === 2 ? answer : undefined;
    },
    { what: 'the second' },
  );
  expect(totals).toEqual({ hangs: 2, nudges: 0, recoveries: 0 });
  expect(buckets).toHaveLength(48);
  expect(buckets.at(-1)?.hangs ?? 0).toBeGreaterThan(0);
  expect(bucketMs).toBe(1_800_000);
  expect(incompleteBeforeMs).toBeNull();
  expect((await stats('?window=7d')).buckets).toHaveLength(42);
});

test('a Redis that is away is answered 503, and streams that stand go on when it is back', async ({ start, skip }) => {
  if (!canIsolateRedis()) skip();
  const own = await isolatedRedis({ durable: true });
  try {
    const watcher = await start({ redisUrl: own.url });
    const stream = await listen(watcher);
    await stream.event((each) => each.event === 'open');
    await own.stop();
    expect((await listen(watcher)).status).toBe(503);
    await own.start();
    const chat = { sessionId: '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11' };
    const told = event('turn.started', chat, { cause: 'human' });
    await eventually(async () => (await watcher.deliver(told)).status === 202, { what: 'Redis' });
    await stream.event((each) => each.data['sessionId'] === chat.sessionId);
    stream.close();
    await watcher.stop();
  } finally {
    await own.close();
  }
});

test('a hundred listeners are one reader of Redis', async ({ start, skip }) => {
  if (!canIsolateRedis()) skip();
  const own = await isolatedRedis();
  try {
    const watcher = await start({ redisUrl: own.url });
    const streams = await Promise.all(Array.from({ length: 100 }, () => listen(watcher)));
    const chat = { sessionId: '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11' };
    await watcher.deliver(event('turn.started', chat, { cause: 'human' }));
    for (const stream of streams) await stream.event((each) => each.event === 'chat.changed');
    expect(watcher.live.listeners).toBe(100);
    const client = createRedis({ url: own.url, role: 'patient', name: 'counter', logger: silentLogger() });
    const readers = String(await client.client('LIST'))
      .split('\n')
      .filter((line) => /name=watcher-trail |cmd=xread/.test(line));
    await closeRedis(client);
    expect(readers).toHaveLength(1);
    for (const stream of streams) stream.close();
    await eventually(() => watcher.live.listeners === 0, { what: 'them to be forgotten' });
    await watcher.stop();
  } finally {
    await own.close();
  }
});
