import { mkdir, writeFile } from 'node:fs/promises';
import { eventually } from '../../support/events.ts';
import { Chat } from './chat.ts';
import { describe, event, expect, sessionWhen, turnEnded } from './harness.ts';
import { test } from './worker-fixture.ts';

const AUTO = { PADDOCK_RECOVERY_AUTODRIVE: '1', PADDOCK_RECOVERY_DEBOUNCE_MS: '300' };

describe('watcher and worker together', () => {
  test('four identical turn ends, a kill: one nudge, not before the debounce, and the reply makes it recovered', async ({
    start,
    folders,
    api,
    worker: _worker,
  }) => {
    const watcher = await start({ env: AUTO });
    await watcher.background.caughtUp;
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const delivery = turnEnded(chat);
    await Promise.all([1, 2, 3, 4].map(() => watcher.deliver(delivery)));
    await eventually(() => watcher.transcripts.get(chat.sessionId)?.mark !== undefined);

    const killedMs = Date.now();
    await chat.kill();
    await sessionWhen(watcher, chat, (body) => body.state === 'nudged', 'the nudge');

    expect(api.messages).toHaveLength(1);
    expect((api.messages[0]?.atMs ?? 0) - killedMs).toBeGreaterThanOrEqual(300);
    await watcher.deliver(event('turn.started', chat, { cause: 'recovery' }));
    await chat.nudgeAndReply();
    await watcher.deliver(turnEnded(chat, { cause: 'recovery' }));
    const session = await sessionWhen(watcher, chat, (body) => body.state === 'recovered' || body.state === 'watching');
    expect(session.trail.map((line) => line.kind)).toContain('recovered');
    expect(api.messages).toHaveLength(1);
  });

  test('a human message before the debounce is over: no nudge', async ({ start, folders, api, worker: _worker }) => {
    const watcher = await start({ env: { ...AUTO, PADDOCK_RECOVERY_DEBOUNCE_MS: '800' } });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.background.caughtUp;
    await watcher.deliver(turnEnded(chat));
    await chat.kill();
    await sessionWhen(watcher, chat, (body) => body.state === 'killed');
    await watcher.deliver(event('message.human', chat));
    await watcher.deliver(event('turn.started', chat, { cause: 'human' }));

    // Another chat that hangs later is nudged: by then this one's time is over.
    const other = new Chat(folders.transcripts);
    await other.begin();
    await watcher.deliver(turnEnded(other));
    await other.kill();
    await eventually(() => api.messages.length > 0);
    expect(api.messages.map(({ session }) => session)).toEqual([other.sessionId]);
  });

  test('switched on while a notice stands: nudged without a restart', async ({
    start,
    folders,
    api,
    worker: _worker,
  }) => {
    const watcher = await start({ env: { PADDOCK_RECOVERY_DEBOUNCE_MS: '100' } });
    await mkdir(`${folders.projects}/p1`);
    await writeFile(`${folders.projects}/p1/project.yaml`, 'name: P1\n');
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.background.caughtUp;
    await watcher.deliver(turnEnded(chat));
    await chat.kill();
    await sessionWhen(watcher, chat, (body) => body.state === 'killed');

    const changed = await watcher.call('/v1/projects/p1/recovery', {
      method: 'PATCH',
      body: '{"autoReDrive":true}',
      headers: { 'content-type': 'application/json' },
    });

    expect(changed.status).toBe(200);
    await sessionWhen(watcher, chat, (body) => body.state === 'nudged', 'the nudge');
    expect(api.messages).toHaveLength(1);
  });

  test('two watchers see one kill: one nudge', async ({ start, folders, api, worker: _worker }) => {
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const first = await start({ env: AUTO });
    await first.deliver(turnEnded(chat));
    const second = await start({ env: AUTO });
    await Promise.all([first.background.caughtUp, second.background.caughtUp]);
    await chat.kill();
    await sessionWhen(first, chat, (body) => body.state === 'nudged', 'the nudge');
    await chat.bookkeeping();
    const other = new Chat(folders.transcripts);
    await other.begin();
    await other.kill();
    await second.deliver(turnEnded(other));
    await sessionWhen(second, other, (body) => body.state === 'nudged', 'the other’s nudge');
    expect(api.messages.filter(({ session }) => session === chat.sessionId)).toHaveLength(1);
  });
});
