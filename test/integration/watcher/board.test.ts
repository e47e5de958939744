import { Queue } from 'bullmq';
import { QUEUE_NAME } from '#shared/queue/jobs.js';
import { queuePrefix } from '#shared/queue/queue.js';
import { eventually } from '../../support/events.ts';
import { Chat } from './chat.ts';
import { describe, event, expect, sessionWhen, turnEnded, type RunningWatcher } from './harness.ts';
import { test as workerTest } from './worker-fixture.ts';

const AUTO = { PADDOCK_RECOVERY_AUTODRIVE: '1', PADDOCK_RECOVERY_DEBOUNCE_MS: '300', ADMIN_BOARD_WRITE: '1' };

/** The queue as it is, beside what the board says of it. */
const test = workerTest.extend<{ queue: Queue }>({
  queue: async ({ redis }, use) => {
    const queue = new Queue(QUEUE_NAME, {
      connection: { url: redis.url, maxRetriesPerRequest: null },
      prefix: queuePrefix(redis.tag),
    });
    await use(queue);
    await queue.close();
  },
});

/** One press of a button on the board. */
async function press(watcher: RunningWatcher, jobId: string, what: string): Promise<void> {
  const path = `/admin/queues/api/queues/recovery/${encodeURIComponent(jobId)}/${what}`;
  const answer = await watcher.call(path, { method: 'PUT' });
  expect({ path, status: answer.status, text: await answer.text() }).toMatchObject({ path, status: 204 });
}

/** Retries each completed job by the board and waits until all of them have run again. */
async function retryAll(watcher: RunningWatcher, queue: Queue): Promise<number> {
  await eventually(async () => (await queue.getActiveCount()) === 0);
  const done = await queue.getCompleted();
  const before = new Map(done.map((job) => [job.id, job.finishedOn ?? 0]));
  for (const job of done) await press(watcher, job.id ?? '', 'retry');
  await eventually(
    async () => {
      const now = await Promise.all(done.map((job) => queue.getJob(job.id ?? '')));
      return now.every((job) => (job?.finishedOn ?? 0) > (before.get(job?.id) ?? 0));
    },
    { what: 'every retried job to end again' },
  );
  return done.length;
}

describe('a board that may write', () => {
  test('jobs retried before and after the reply, and one promoted: every guard holds, one nudge for each hang', async ({
    start,
    folders,
    api,
    queue,
    worker: _worker,
  }) => {
    const watcher = await start({ env: AUTO });
    await watcher.background.caughtUp;
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    await chat.kill();
    await sessionWhen(watcher, chat, (body) => body.state === 'nudged', 'the nudge');
    expect(await retryAll(watcher, queue)).toBeGreaterThan(0);
    expect(api.messages).toHaveLength(1);

    await watcher.deliver(event('turn.started', chat, { cause: 'recovery' }));
    await chat.nudgeAndReply();
    await watcher.deliver(turnEnded(chat, { cause: 'recovery' }));
    await sessionWhen(watcher, chat, (body) => body.state === 'recovered' || body.state === 'watching');
    expect(await retryAll(watcher, queue)).toBeGreaterThan(0);
    expect(api.messages).toHaveLength(1);

    // The backstop of a chat that is well, run early: clean. Then its hang's evaluation, run before the debounce is over.
    const slow = new Chat(folders.transcripts, 'slow');
    await slow.begin();
    await watcher.call('/v1/pause', { method: 'POST' });
    await watcher.deliver(turnEnded(slow));
    for (const job of await queue.getDelayed()) await press(watcher, job.id ?? '', 'promote');
    await slow.kill();
    await sessionWhen(watcher, slow, (body) => body.state === 'killed');
    for (const job of await queue.getDelayed()) await press(watcher, job.id ?? '', 'promote');
    expect(api.messages).toHaveLength(1);
    await watcher.call('/v1/resume', { method: 'POST' });
    await sessionWhen(watcher, slow, (body) => body.state === 'nudged', 'the other’s nudge');
    await retryAll(watcher, queue);
    expect(api.messages.map(({ session }) => session)).toEqual([chat.sessionId, slow.sessionId]);
  });

  test('a promoted evaluation does not shorten the debounce', async ({
    start,
    folders,
    api,
    queue,
    worker: _worker,
  }) => {
    const watcher = await start({ env: { ...AUTO, PADDOCK_RECOVERY_DEBOUNCE_MS: '1500' } });
    await watcher.background.caughtUp;
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    const killedMs = Date.now();
    await chat.kill();
    await sessionWhen(watcher, chat, (body) => body.state === 'killed');
    const delayed = await queue.getDelayed();
    expect(delayed.length).toBeGreaterThan(0);
    for (const job of delayed) await press(watcher, job.id ?? '', 'promote');
    await sessionWhen(watcher, chat, (body) => body.state === 'nudged', 'the nudge');
    expect(api.messages).toHaveLength(1);
    expect((api.messages[0]?.atMs ?? 0) - killedMs).toBeGreaterThanOrEqual(1_500);
  });

  test('a payload that is edited there is checked again: what fits nothing ends without effect', async ({
    start,
    api,
    queue,
    worker: _worker,
  }) => {
    const watcher = await start({ env: AUTO });
    const add = await watcher.call('/admin/queues/api/queues/recovery/add', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'evaluate', data: { v: 1, sessionId: '../../etc/passwd' }, options: {} }),
    });
    expect(add.status).toBe(200);
    await eventually(async () => (await queue.getFailed()).some((job) => job.failedReason.includes('job evaluate')));
    expect(api.messages).toEqual([]);
  });
});

describe('a board that may not', () => {
  test('refuses whatever would change something', async ({ start, folders, queue }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    const [job] = await queue.getDelayed();
    const one = `recovery/${encodeURIComponent(job?.id ?? '')}`;
    const all: [string, string][] = [
      ['PUT', 'pause'],
      ['PUT', 'resume'],
      ['POST', 'recovery/add'],
      ['PUT', 'recovery/retry/failed'],
      ['PUT', 'recovery/promote'],
      ['PUT', 'recovery/clean/delayed'],
      ['PUT', 'recovery/pause'],
      ['PUT', 'recovery/resume'],
      ['PUT', 'recovery/empty'],
      ['PUT', 'recovery/obliterate'],
      ['PUT', `${one}/retry`],
      ['PUT', `${one}/promote`],
      ['PUT', `${one}/clean`],
      ['PATCH', `${one}/update-data`],
    ];
    for (const [method, path] of all) {
      await watcher.call(`/admin/queues/api/queues/${path}`, {
        method,
        ...(method === 'PUT'
          ? {}
          : { headers: { 'content-type': 'application/json' }, body: '{"name":"evaluate","data":{}}' }),
      });
      const [left] = await queue.getDelayed();
      expect({ path, id: left?.id, data: left?.data as unknown, paused: await queue.isPaused() }).toEqual({
        path,
        id: job?.id,
        data: job?.data as unknown,
        paused: false,
      });
    }
    expect(await queue.getJobCounts('waiting', 'failed', 'completed', 'active')).toEqual({
      waiting: 0,
      failed: 0,
      completed: 0,
      active: 0,
    });
  });
});
