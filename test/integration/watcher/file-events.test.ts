import { EventEmitter } from 'node:events';
import { readFileSync, statSync, unlinkSync, writeFileSync } from 'node:fs';
import { appendFile, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SystemWatcher } from '../../../services/watcher/file-watch.ts';
import { eventually } from '../../support/events.ts';
import { Chat, lines } from './chat.ts';
import { describe, expect, sessionWhen, test, turnEnded, vi, type Folders, type RunningWatcher } from './harness.ts';
import { evaluations, waitingJobs } from './queue-jobs.ts';

/** An armed chat whose file is watched and was looked at. No sweep comes to help. */
async function armed(watcher: RunningWatcher, chat: Chat, data: Record<string, unknown> = {}): Promise<void> {
  await watcher.background.caughtUp;
  expect((await watcher.deliver(turnEnded(chat, data))).status).toBe(202);
  await eventually(() => watcher.transcripts.get(chat.sessionId)?.mark !== undefined, { what: 'the first look' });
}

/** A chat with a first exchange, armed. */
async function armedChat(watcher: RunningWatcher, folders: Folders): Promise<Chat> {
  const chat = new Chat(folders.transcripts);
  await chat.begin();
  await armed(watcher, chat);
  return chat;
}

const killed = (session: { state: string }) => session.state === 'killed';

describe('file events', () => {
  test('a kill is surfaced as soon as it is in the file, and its evaluation is planned a debounce later', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start({ env: { PADDOCK_RECOVERY_AUTODRIVE: '1', PADDOCK_RECOVERY_DEBOUNCE_MS: '7000' } });
    const chat = await armedChat(watcher, folders);

    await chat.kill();

    const session = await sessionWhen(watcher, chat, killed);
    expect(session.notice?.tasks).toMatchObject([{ id: 'b1' }]);
    const record = await watcher.store.find(chat.sessionId);
    const jobs = await eventually(async () => {
      const found = await evaluations(redis, 'notice');
      return found.length > 0 ? found : undefined;
    });
    expect(jobs).toHaveLength(1);
    expect(jobs[0]?.dueMs).toBe((record?.notice?.seenMs ?? 0) + 7_000);
    expect(jobs[0]?.data).toMatchObject({ sessionId: chat.sessionId, generation: 1, noticeId: record?.notice?.id });
  });

  test('with automatic recovery off the kill is surfaced and nothing is planned', async ({ start, folders, redis }) => {
    const watcher = await start();
    const chat = await armedChat(watcher, folders);
    await chat.kill();
    await sessionWhen(watcher, chat, killed);
    expect(await evaluations(redis, 'notice')).toEqual([]);
  });

  test('a kill that was in the file before the turn end arrived is found (claude-code#87948)', async ({
    start,
    folders,
  }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await chat.kill();
    await armed(watcher, chat);
    await sessionWhen(watcher, chat, killed);
  });

  test('a limbo time-out is planned once for a notice', async ({ start, folders, redis }) => {
    const watcher = await start({ env: { PADDOCK_RECOVERY_LIMBO_MS: '60000' } });
    const chat = await armedChat(watcher, folders);
    await chat.kill();
    await sessionWhen(watcher, chat, killed);
    await chat.bookkeeping();
    const record = await watcher.store.find(chat.sessionId);
    const jobs = await eventually(async () => {
      const found = await waitingJobs(redis);
      return found.some((job) => job.name === 'limbo') ? found : undefined;
    });
    const limbo = jobs.filter((job) => job.name === 'limbo');
    expect(limbo).toHaveLength(1);
    expect(limbo[0]?.dueMs).toBe((record?.notice?.firstSeenMs ?? 0) + 60_000);
  });

  test('a reply clears the notice', async ({ start, folders }) => {
    const watcher = await start();
    const chat = await armedChat(watcher, folders);
    await chat.kill();
    await sessionWhen(watcher, chat, killed);
    await chat.nudgeAndReply();
    const session = await sessionWhen(watcher, chat, (body) => body.state === 'watching');
    expect(session.notice).toBeNull();
    expect(session.trail.map((line) => line.kind)).toEqual(['turn-ended', 'killed-task', 'cleared']);
  });

  test('changes that mean nothing ask nothing of Redis', async ({ start, folders }) => {
    const watcher = await start({ tuning: { sweepEveryMs: 60_000 } });
    const chat = await armedChat(watcher, folders);
    const seenSize = (): number => {
      const session = watcher.transcripts.get(chat.sessionId);
      return (session?.glanced ?? session?.mark)?.size ?? 0;
    };
    const spies = (['find', 'noticed', 'cleared', 'show', 'note', 'publishSettings', 'now'] as const).map((name) =>
      vi.spyOn(watcher.store, name),
    );
    for (let round = 0; round < 5; round += 1) {
      const before = seenSize();
      await chat.bookkeeping();
      await eventually(() => seenSize() > before);
    }
    expect(spies.map((spy) => spy.mock.calls.length)).toEqual([0, 0, 0, 0, 0, 0, 0]);
  });

  test('what is glanced at is judged at the next step of the sweep, and the kill that follows is seen', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start({ tuning: { sweepEveryMs: 20 } });
    const chat = await armedChat(watcher, folders);
    const session = watcher.transcripts.get(chat.sessionId);
    await chat.bookkeeping();
    await eventually(() => session?.glanced !== undefined, { what: 'the glance' });
    await redis.client.zadd(`{${redis.tag}}:armed`, 0, chat.sessionId);
    await eventually(() => session?.glanced === undefined, { what: 'the step' });
    await chat.bookkeeping();
    await chat.kill();
    await sessionWhen(watcher, chat, killed);
  });

  test('a kill that was queued far behind an open turn, which a step read, is seen as soon as that turn replies', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start({ tuning: { sweepEveryMs: 20 } });
    const chat = await armedChat(watcher, folders);
    const session = watcher.transcripts.get(chat.sessionId);
    const step = async () => {
      const before = session?.mark?.size ?? 0;
      await redis.client.zadd(`{${redis.tag}}:armed`, 0, chat.sessionId);
      await eventually(() => (session?.mark?.size ?? 0) > before, { what: 'the step' });
    };
    const launch = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: { command: 'make' } });
    const result = { type: 'tool_result', tool_use_id: 'toolu_x', content: 'y'.repeat(50_000) };
    const before = await readFile(chat.path, 'utf8');
    const openTurn = [
      chat.user('Go on.'),
      chat.assistant([launch('toolu_x')]),
      chat.killed('b1'),
      chat.entry('user', { message: { role: 'user', content: [result] } }),
      chat.assistant([launch('toolu_y')]),
    ];
    await chat.replaceByRename(before + lines(...openTurn));
    await step();
    await appendFile(chat.path, lines(chat.assistant([{ type: 'text', text: 'It is built.' }])));
    await sessionWhen(watcher, chat, killed);
  });

  test('a file that is removed and written anew under the same inode goes on being watched', async ({
    start,
    folders,
  }) => {
    const watcher = await start({ tuning: { sweepEveryMs: 60_000 } });
    const chat = await armedChat(watcher, folders);
    await chat.bookkeeping();
    const content = readFileSync(chat.path);
    unlinkSync(chat.path);
    writeFileSync(chat.path, content);
    const session = watcher.transcripts.get(chat.sessionId);
    await eventually(() => session?.mark?.mtimeMs === statSync(chat.path).mtimeMs, { what: 'the new file' });
    await chat.bookkeeping();
    await chat.kill();
    await sessionWhen(watcher, chat, killed);
  });

  test('a file that a link outside the roots has taken the place of is neither read nor taken for it', async ({
    start,
    folders,
  }) => {
    const watcher = await start({ tuning: { sweepEveryMs: 60_000 } });
    const chat = await armedChat(watcher, folders);
    const outside = join(folders.root, 'outside.jsonl');
    await writeFile(outside, (await readFile(chat.path, 'utf8')) + lines(chat.killed('b1')));
    await rm(chat.path);
    await symlink(outside, chat.path);
    await eventually(() => watcher.transcripts.get(chat.sessionId)?.mark === undefined, { what: 'the look' });
    await appendFile(outside, lines(chat.killed('b1')));
    const answer = await watcher.deliver(turnEnded(chat, {}, Date.now() + 1));
    expect(answer.status).toBe(422);
    expect(await watcher.store.find(chat.sessionId)).toMatchObject({ notice: undefined });
  });

  test('a kill written within milliseconds of another entry is seen all the same (chokidar drops its event)', async ({
    start,
    folders,
  }) => {
    const watcher = await start({ tuning: { sweepEveryMs: 60_000 } });
    for (let round = 0; round < 5; round += 1) {
      const chat = await armedChat(watcher, folders);
      await chat.bookkeeping();
      await eventually(() => watcher.transcripts.get(chat.sessionId)?.mark !== undefined);
      await chat.kill();
      await sessionWhen(watcher, chat, killed);
    }
  });

  test('R47: a file replaced by rename goes on being watched', async ({ start, folders }) => {
    const watcher = await start({ tuning: { sweepEveryMs: 60_000 } });
    const chat = await armedChat(watcher, folders);
    const inode = watcher.transcripts.get(chat.sessionId)?.mark?.ino;
    // Within moments of another change: chokidar misses that, and is silent from then on.
    await chat.bookkeeping();
    await chat.replaceByRename(await readFile(chat.path, 'utf8'));
    await eventually(() => watcher.transcripts.get(chat.sessionId)?.mark?.ino !== inode, { what: 'the new file' });
    await chat.bookkeeping();
    await chat.kill();
    await sessionWhen(watcher, chat, killed);
  });

  test('a file that does not exist yet is watched once it does', async ({ start, folders }) => {
    const watcher = await start();
    const chat = new Chat(folders.transcripts, 'new-project');
    await watcher.background.caughtUp;
    await mkdir(join(folders.transcripts, 'new-project'));
    expect((await watcher.deliver(turnEnded(chat))).status).toBe(202);
    await eventually(() => watcher.transcripts.counts().owed === 1);
    await chat.begin();
    await eventually(() => watcher.transcripts.get(chat.sessionId)?.mark !== undefined, { what: 'the first look' });
    await chat.kill();
    await sessionWhen(watcher, chat, killed);
  });

  test('R47: a directory that is a symbolic link inside the roots', async ({ start, folders }) => {
    const watcher = await start();
    const chat = new Chat(join(folders.transcripts), 'real');
    await chat.begin();
    await symlink(join(folders.transcripts, 'real'), join(folders.transcripts, 'linked'));
    await armed(watcher, chat, { transcriptPath: join(folders.transcripts, 'linked', `${chat.sessionId}.jsonl`) });
    await chat.kill();
    await sessionWhen(watcher, chat, killed);
    expect((await watcher.store.find(chat.sessionId))?.path).toBe(chat.path);
  });

  test('a vanished file is shown as missing, once, and is taken up again when it is back', async ({
    start,
    folders,
  }) => {
    const watcher = await start();
    const chat = await armedChat(watcher, folders);
    const content = await readFile(chat.path, 'utf8');
    await rm(chat.path);
    await sessionWhen(watcher, chat, (body) => body.state === 'transcript-missing');
    await appendFile(chat.path, content + lines(chat.killed('b1')));
    const session = await sessionWhen(watcher, chat, killed);
    expect(session.trail.filter((line) => line.kind === 'transcript-missing')).toHaveLength(1);
  });

  test('a file that is replaced, removed and back within moments goes on being watched', async ({ start, folders }) => {
    const watcher = await start();
    for (let round = 0; round < 3; round += 1) {
      const chat = await armedChat(watcher, folders);
      const content = await readFile(chat.path, 'utf8');
      await chat.replaceByRename(content);
      await rm(chat.path);
      await appendFile(chat.path, content);
      await chat.replaceByRename(content);
      await eventually(() => watcher.transcripts.get(chat.sessionId)?.mark !== undefined);
      await chat.kill();
      await sessionWhen(watcher, chat, killed);
      await chat.nudgeAndReply();
      await sessionWhen(watcher, chat, (body) => body.state === 'watching');
    }
  });

  test('the end of a watch takes its file watch with it', async ({ start, folders }) => {
    const watcher = await start();
    const chat = await armedChat(watcher, folders);
    expect(watcher.transcripts.counts()).toEqual({ sessions: 1, files: 1, owed: 0 });
    expect((await watcher.call(`/v1/sessions/${chat.sessionId}/watch`, { method: 'DELETE' })).status).toBe(204);
    expect(watcher.transcripts.counts()).toEqual({ sessions: 0, files: 0, owed: 0 });
  });

  test('R47: out of inotify watches: counted, and the sweep sees the kill instead', async ({
    start,
    folders,
    redis,
  }) => {
    const watcher = await start({ tuning: { openFile: outOfWatches } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.background.caughtUp;
    await watcher.deliver(turnEnded(chat));
    await eventually(() => watcher.transcripts.counts().files === 0);
    await chat.kill();
    // The next step is due now.
    await redis.client.zadd(`{${redis.tag}}:armed`, 0, chat.sessionId);
    await sessionWhen(watcher, chat, killed);
    expect(await watcher.metrics.registry.metrics()).toContain('file_watch_errors_total{code="ENOSPC"} 1');
  });
});

/** The watcher of a file on a machine whose inotify watches are used up. */
function outOfWatches(): SystemWatcher {
  const watcher = Object.assign(new EventEmitter(), { close: () => undefined });
  const error = Object.assign(new Error('System limit for number of file watchers reached'), { code: 'ENOSPC' });
  setImmediate(() => watcher.emit('error', error));
  return watcher;
}
