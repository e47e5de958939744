import { appendFile, mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { eventually } from '../../support/events.ts';
import { Chat, lines } from '../watcher/chat.ts';
import { sessionWhen, turnEnded, type RunningWatcher, type SessionBody } from '../watcher/harness.ts';
import { describe, expect } from '../../support/redis.ts';
import { test } from '../watcher/worker-fixture.ts';

const QUICK = { everyMs: 200 };

/** A chat that has hung for an hour, as an old home holds many. */
async function longDead(chat: Chat): Promise<void> {
  await chat.begin();
  await chat.kill();
}

/** Shown as killed, and automatic recovery keeps off. */
const foundHung = (session: SessionBody & { automaticReason?: string | null }): boolean =>
  session.state === 'killed' && session.automaticReason === 'found-hung';

/** States of all sessions, counted. */
async function states(watcher: RunningWatcher): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  let cursor = '';
  for (;;) {
    const answer = await watcher.call(`/v1/sessions?limit=500${cursor}`);
    const page = (await answer.json()) as { sessions: { state: string }[]; next: string | null };
    for (const { state } of page.sessions) found[state] = (found[state] ?? 0) + 1;
    if (page.next === null) return found;
    cursor = `&cursor=${encodeURIComponent(page.next)}`;
  }
}

describe('discovery', () => {
  test(
    '1,000 chats, 50 hung before the start and 5 after it: all 55 are shown, 5 are nudged, few files are watched',
    { timeout: 120_000 },
    async ({ start, folders, api, redis, worker: _worker }) => {
      const chats = Array.from({ length: 1_000 }, (_, index) => new Chat(folders.transcripts, `project-${index % 20}`));
      const [old, later] = [chats.slice(0, 50), chats.slice(50, 55)];
      for (const chat of chats) await (old.includes(chat) ? longDead(chat) : chat.begin());
      const watcher = await start({
        env: {
          DISCOVER: '1',
          PADDOCK_RECOVERY_AUTODRIVE: '1',
          PADDOCK_RECOVERY_DEBOUNCE_MS: '300',
          SESSION_API_URL: api.url,
        },
        tuning: { discovery: QUICK, maxWatchedFiles: 100 },
      });
      await eventually(
        async () => {
          const { killed, watching } = await states(watcher);
          return killed === 50 && watching === 950;
        },
        {
          timeoutMs: 60_000,
          what: 'all chats to be found',
        },
      );
      for (const chat of later) await chat.kill();
      await eventually(() => api.messages.length === 5, { timeoutMs: 30_000, what: 'five nudges' });
      await eventually(async () => {
        const { killed = 0, nudging = 0, nudged = 0 } = await states(watcher);
        return killed === 50 && nudging + nudged === 5;
      });
      expect(new Set(api.messages.map(({ session }) => session))).toEqual(
        new Set(later.map(({ sessionId }) => sessionId)),
      );
      expect(watcher.transcripts.counts()).toMatchObject({ sessions: 1_000, files: 100 });
      const [first = new Chat(folders.transcripts)] = old;
      // Its first step, now.
      await redis.client.zadd(`{${redis.tag}}:armed`, 0, first.sessionId);
      const { trail } = await sessionWhen(watcher, first, (session) =>
        session.trail.some(({ kind }) => kind === 'shown-only'),
      );
      expect(trail).toContainEqual(expect.objectContaining({ kind: 'shown-only', reason: 'found-hung' }));
    },
  );

  test('the long dead stay un-nudged after a restart, also where the record was lost', async ({
    start,
    folders,
    api,
    redis,
    worker: _worker,
  }) => {
    const setup = {
      env: {
        DISCOVER: '1',
        PADDOCK_RECOVERY_AUTODRIVE: '1',
        PADDOCK_RECOVERY_DEBOUNCE_MS: '100',
        SESSION_API_URL: api.url,
      },
      tuning: { discovery: QUICK },
    };
    const [chat, forgotten] = [new Chat(folders.transcripts), new Chat(folders.transcripts)];
    await longDead(chat);
    await longDead(forgotten);
    const first = await start(setup);
    for (const one of [chat, forgotten]) {
      await sessionWhen(first, one, ({ trail }) => trail.some(({ reason }) => reason === 'found-hung'));
    }
    await first.stop();
    const marks = await redis.client.keys(`{${redis.tag}}:d:*`);
    await redis.client.del(`{${redis.tag}}:s:${forgotten.sessionId}`, ...marks);
    const second = await start(setup);
    for (const one of [chat, forgotten]) await sessionWhen(second, one, foundHung);
    expect(api.messages).toEqual([]);
  });

  test('a chat that begins and is killed while it watches is nudged, also between two rounds', async ({
    start,
    folders,
    api,
    worker: _worker,
  }) => {
    const watcher = await start({
      env: {
        DISCOVER: '1',
        PADDOCK_RECOVERY_AUTODRIVE: '1',
        PADDOCK_RECOVERY_DEBOUNCE_MS: '100',
        SESSION_API_URL: api.url,
      },
      tuning: { discovery: QUICK },
    });
    const earlier = new Chat(folders.transcripts);
    await earlier.begin();
    await sessionWhen(watcher, earlier, ({ armed }) => armed);
    const chat = new Chat(folders.transcripts);
    await mkdir(dirname(chat.path), { recursive: true });
    await writeFile(chat.path, chat.openingLines() + lines(chat.killed('b1')));
    await eventually(() => api.messages.length === 1);
    expect(api.messages[0]?.session).toBe(chat.sessionId);
    // Its turn then ends like any other: recovered, watched on, and not nudged again.
    await chat.nudgeAndReply();
    await sessionWhen(watcher, chat, ({ state }) => state === 'recovered');
    expect(api.messages).toHaveLength(1);
  });

  test('only chats: no sub-agents, no other files, none that nobody has written for a day; links are followed', async ({
    start,
    folders,
  }) => {
    const [plain, agent, nested, old, linked] = Array.from({ length: 5 }, () => new Chat(folders.transcripts)) as [
      Chat,
      Chat,
      Chat,
      Chat,
      Chat,
    ];
    await Promise.all([plain, old].map((chat) => chat.begin()));
    const dayAgo = new Date(Date.now() - 25 * 3_600_000);
    await utimes(old.path, dayAgo, dayAgo);
    const write = async (path: string, chat: Chat) => {
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, chat.openingLines());
    };
    await write(join(folders.transcripts, 'p1', `agent-${agent.sessionId}.jsonl`), agent);
    await write(join(folders.transcripts, 'p1', nested.sessionId, 'subagents', `${nested.sessionId}.jsonl`), nested);
    await write(join(folders.transcripts, 'elsewhere', 'chats', `${linked.sessionId}.jsonl`), linked);
    await symlink(join(folders.transcripts, 'elsewhere', 'chats'), join(folders.transcripts, 'p2'));
    const watcher = await start({ env: { DISCOVER: '1' }, tuning: { discovery: QUICK } });
    for (const chat of [plain, linked]) await sessionWhen(watcher, chat, ({ armed }) => armed);
    expect(await states(watcher)).toEqual({ watching: 2 });
  });

  test('leaves alone whom webhooks tell of, a watch that an operator ended, and a turn that runs', async ({
    start,
    folders,
  }) => {
    const chats = Array.from({ length: 3 }, () => new Chat(folders.transcripts)) as [Chat, Chat, Chat];
    const [told, ended, running] = chats;
    await told.begin();
    await ended.begin();
    await mkdir(dirname(running.path), { recursive: true });
    await writeFile(running.path, running.openingLines().split('\n').slice(0, 2).join('\n').concat('\n'));
    const watcher = await start({ env: { DISCOVER: '1' }, tuning: { discovery: QUICK } });
    await sessionWhen(watcher, ended, ({ armed }) => armed);
    await watcher.call(`/v1/sessions/${ended.sessionId}/watch`, { method: 'DELETE' });
    await watcher.deliver(turnEnded(told));
    const { generation } = await sessionWhen(watcher, told, ({ armed }) => armed);
    for (const chat of [told, ended]) await chat.bookkeeping();
    // A later chat is watched: so a whole round has seen the others.
    const later = new Chat(folders.transcripts);
    await later.begin();
    await sessionWhen(watcher, later, ({ armed }) => armed);
    expect((await sessionWhen(watcher, told, () => true)).generation).toBe(generation);
    expect((await sessionWhen(watcher, ended, () => true)).armed).toBe(false);
    expect((await watcher.call(`/v1/sessions/${running.sessionId}`)).status).toBe(404);
    await appendFile(running.path, running.openingLines().split('\n').slice(2).join('\n'));
    await sessionWhen(watcher, running, ({ armed }) => armed);
  });

  test('without DISCOVER nothing is looked for', async ({ start, folders }) => {
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const watcher = await start({ tuning: { discovery: QUICK } });
    await watcher.background.sweepNow();
    expect(await states(watcher)).toEqual({});
  });
});
