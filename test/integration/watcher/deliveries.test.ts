import { Webhook } from 'standardwebhooks';
import { eventually } from '../../support/events.ts';
import { Chat } from './chat.ts';
import { deliver, describe, event, expect, problemOf, SECRET, sessionWhen, test, turnEnded } from './harness.ts';
import { waitingJobs } from './queue-jobs.ts';

const json = async (response: Response) => ({ status: response.status, body: await response.json() });

describe('what a turn end is answered', () => {
  test('a turn end is answered 202 with what it armed, once record and job are in Redis', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start({ env: { PADDOCK_RECOVERY_AUTODRIVE: '1' } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();

    const answer = await json(await watcher.deliver(turnEnded(chat)));

    expect(answer).toEqual({ status: 202, body: { armed: true, reason: 'armed', generation: 1 } });
    expect(await redis.client.zcard(`{${redis.tag}}:recovery:delayed`)).toBe(1);
    expect(await watcher.store.find(chat.sessionId)).toMatchObject({ armed: true, path: chat.path, server: 'default' });
  });

  test.for([
    ['batch mode', { driveMode: 'batch' }, {}, { armed: false, reason: 'batch-mode' }],
    ['an interrupted turn', { outcome: 'interrupted' }, {}, { armed: true, reason: 'user-interrupted' }],
    ['automatic recovery off', {}, { PADDOCK_RECOVERY_AUTODRIVE: 'no' }, { armed: true, reason: 'surface-only' }],
    [
      'both layers off',
      {},
      { PADDOCK_RECOVERY_AUTODRIVE: '0', PADDOCK_RECOVERY_SURFACE: '0' },
      { armed: false, reason: 'layers-off' },
    ],
  ] as const)('%s is answered with its reason', async ([, data, settings, wanted], { start, folders, redis }) => {
    const watcher = await start({ env: { PADDOCK_RECOVERY_AUTODRIVE: '1', ...settings } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();

    const answer = await json(await watcher.deliver(turnEnded(chat, data)));

    expect(answer).toMatchObject({ status: 202, body: wanted });
    expect(await redis.client.zcard(`{${redis.tag}}:recovery:delayed`)).toBe(wanted.armed ? 1 : 0);
  });

  test('a project unknown to the watcher has the instance’s settings', async ({ start, folders }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts, 'p1');
    await chat.begin();
    const answer = await json(await watcher.deliver(turnEnded(chat, { project: 'never-heard-of' })));
    expect(answer).toMatchObject({ status: 202, body: { reason: 'surface-only' } });
  });

  test('without a path the transcript is found from the cwd', async ({ start, folders }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts, '-home-dev-my-app');
    await chat.begin();
    const answer = await watcher.deliver(turnEnded(chat, { transcriptPath: undefined, cwd: '/home/dev/my.app' }));
    expect(answer.status).toBe(202);
    expect((await watcher.store.find(chat.sessionId))?.path).toBe(chat.path);
  });
});

describe('what a delivery costs', () => {
  test('one script of ours, an add where it is the first of its second, and nothing for the look at a clean file', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start({ tuning: { sweepEveryMs: 3_600_000 } });
    await watcher.background.caughtUp;
    const [first, ...others] = Array.from({ length: 4 }, () => new Chat(folders.transcripts)) as [Chat, ...Chat[]];
    for (const chat of [first, ...others]) await chat.begin();
    // Scripts are loaded and the project's settings are published with the first.
    await watcher.deliver(turnEnded(first));

    const monitor = await redis.client.monitor();
    const calls: string[] = [];
    const ours = (_time: string, args: string[], source: string) => {
      if (source !== 'lua' && args.join(' ').includes(redis.tag)) calls.push(args[0] ?? '');
    };
    monitor.on('monitor', ours);
    const fromMs = performance.now();
    for (const chat of others) await watcher.deliver(turnEnded(chat));
    const seconds = Math.ceil((performance.now() - fromMs) / 1_000);
    await eventually(() => others.every((chat) => watcher.transcripts.get(chat.sessionId)?.mark !== undefined));
    await redis.client.get(`{${redis.tag}}:end`);
    await eventually(() => calls.includes('get'));
    monitor.disconnect();

    const scripts = calls.filter((name) => name === 'evalsha').length;
    expect(scripts).toBeGreaterThanOrEqual(others.length);
    expect(scripts).toBeLessThanOrEqual(others.length + seconds);
    expect(new Set(calls)).toEqual(new Set(['evalsha', 'get']));
  });
});

describe('duplicates and order', () => {
  test('R48 (1): the same webhook-id is answered like the first time and leaves one job', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const delivery = turnEnded(chat);

    const answers = await Promise.all([1, 2, 3, 4].map(() => watcher.deliver(delivery, { id: 'msg_same' })));
    const bodies = await Promise.all(answers.map(async (answer) => (await answer.json()) as { duplicate?: boolean }));

    expect(answers.map((answer) => answer.status)).toEqual([202, 202, 202, 202]);
    expect(bodies.filter((body) => body.duplicate === true)).toHaveLength(3);
    expect(new Set(bodies.map((body) => JSON.stringify({ ...body, duplicate: undefined }))).size).toBe(1);
    expect(await redis.client.zcard(`{${redis.tag}}:recovery:delayed`)).toBe(1);
  });

  test('a duplicate adds its job again: a crash between record and job heals', async ({ start, folders, redis }) => {
    const [watcher, other] = [await start(), await start()];
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const delivery = turnEnded(chat);
    await watcher.deliver(delivery, { id: 'msg_1' });
    const [lost] = await waitingJobs(redis);
    const queue = `{${redis.tag}}:recovery`;
    await redis.client.del(`${queue}:${lost?.id ?? ''}`, `${queue}:delayed`);

    expect(await (await other.deliver(delivery, { id: 'msg_1' })).json()).toMatchObject({ duplicate: true });

    const jobs = await waitingJobs(redis);
    expect(jobs.map(({ name, dueMs }) => ({ name, dueMs }))).toEqual([{ name: 'backstop', dueMs: lost?.dueMs }]);
  });

  test('an older event is answered as stale and changes nothing', async ({ start, folders }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const now = Date.now();
    await watcher.deliver(event('message.human', chat, {}, now));

    const answer = await json(await watcher.deliver(turnEnded(chat, {}, now - 5_000)));

    expect(answer).toMatchObject({ status: 202, body: { armed: false, reason: 'stale-event' } });
    expect((await watcher.store.find(chat.sessionId))?.armed).toBe(false);
  });

  test('a human message voids the notice, a close ends the watch', async ({ start, folders }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    await chat.kill();
    await sessionWhen(watcher, chat, (session) => session.state === 'killed');

    await watcher.deliver(event('message.human', chat));
    await sessionWhen(watcher, chat, (session) => session.generation === 2);
    const closed = await watcher.deliver(event('session.closed', chat, { reason: 'deleted' }));

    expect(closed.status).toBe(202);
    const session = await sessionWhen(watcher, chat, (body) => body.state === 'closed');
    expect(session.armed).toBe(false);
    expect(watcher.transcripts.counts()).toEqual({ sessions: 0, files: 0, owed: 0 });
  });
});

describe('who sent it', () => {
  test('both secrets are good while one is being replaced, and so is a list of signatures', async ({
    start,
    folders,
  }) => {
    const old = 'plain-old-secret';
    const watcher = await start({ env: { WEBHOOK_SECRETS: `${SECRET},${old}` } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const oldKey = Buffer.from(old).toString('base64');

    expect((await watcher.deliver(turnEnded(chat))).status).toBe(202);
    expect((await watcher.deliver(event('message.human', chat), { secret: oldKey })).status).toBe(202);
    const signedAt = new Date();
    const body = JSON.stringify(event('task.stopped', chat, { taskId: 'b1', by: 'user' }));
    const good = new Webhook(SECRET).sign('msg_list', signedAt, body);
    const unknown = new Webhook(Buffer.from('somebody else').toString('base64')).sign('msg_list', signedAt, body);
    const listed = await deliver(watcher.url, body, {
      id: 'msg_list',
      signedAt,
      headers: { 'webhook-signature': `v1a,AAAA ${unknown} ${good}` },
    });
    expect(listed.status).toBe(202);
  });

  test('with two chat servers the secret says which one it is; the other’s session is refused and unchanged', async ({
    start,
    folders,
  }) => {
    const secretA = `whsec_${Buffer.from('secret of server a').toString('base64')}`;
    const secretB = `whsec_${Buffer.from('secret of server b').toString('base64')}`;
    const server = (id: string, secret: string) => ({
      id,
      webhookSecrets: [secret],
      transcriptRoots: [folders.transcripts],
      projectsDir: folders.projects,
    });
    const watcher = await start({ file: { chatServers: [server('a', secretA), server('b', secretB)] } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat), { secret: secretA });
    const before = await watcher.store.find(chat.sessionId);

    const foreign = await watcher.deliver(event('session.closed', chat, { reason: 'deleted' }), { secret: secretB });

    expect(await problemOf(foreign)).toEqual({
      status: 409,
      code: 'session_owned_by_other_server',
      field: 'data.sessionId',
    });
    expect(before?.server).toBe('a');
    expect(await watcher.store.find(chat.sessionId)).toEqual(before);
  });

  test('a path as the sender’s container sees it is opened where we see it', async ({ start, folders }) => {
    const watcher = await start({ env: { TRANSCRIPT_ROOTS: `/data/claude=${folders.transcripts}` } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const answer = await watcher.deliver(
      turnEnded(chat, { transcriptPath: `/data/claude/p1/${chat.sessionId}.jsonl` }),
    );
    expect(answer.status).toBe(202);
    expect((await watcher.store.find(chat.sessionId))?.path).toBe(chat.path);
  });
});
