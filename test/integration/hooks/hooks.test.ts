import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { identify } from '#shared/liveness/process-id.js';
import { SESSION_PROCESSES, sessionProcesses } from '#shared/liveness/session-processes.js';
import { eventually } from '../../support/events.ts';
import { Chat } from '../watcher/chat.ts';
import { describe, event, expect, sessionWhen, test, turnEnded } from '../watcher/harness.ts';
import { counted, HOOK_TOKEN, payload, post } from './support.ts';

const ENV = { HOOK_TOKEN };

describe('hooks of Claude Code', () => {
  test('a Stop arms the watch, and a task that is killed afterwards is shown', async ({ start, folders }) => {
    const watcher = await start({ env: ENV });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const answer = await post(watcher, payload(chat, 'Stop', { background_tasks: [{ id: 'b1', type: 'shell' }] }));
    expect([answer.status, await answer.text()]).toEqual([200, '{}']);
    await sessionWhen(watcher, chat, ({ armed }) => armed);
    await chat.kill();
    const session = await sessionWhen(watcher, chat, ({ state }) => state === 'killed');
    expect(session.notice?.tasks.map(({ id }) => id)).toEqual(['b1']);
  });

  test('a message voids what is pending and resets the count; a wake and a nudge only start a turn', async ({
    start,
    folders,
  }) => {
    const watcher = await start({ env: ENV });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await post(watcher, payload(chat, 'Stop'));
    for (const prompt of ['<task-notification>\n<task-id>b1</task-id>', '[Paddock recovery] Go on.', 'Go on.']) {
      await post(watcher, payload(chat, 'UserPromptSubmit', { prompt }));
    }
    await post(watcher, payload(chat, 'Stop'));
    const { trail } = await sessionWhen(
      watcher,
      chat,
      (session) => session.trail.filter(({ kind }) => kind === 'turn-ended').length === 2,
    );
    expect(trail.map(({ kind }) => kind)).toEqual([
      'turn-ended',
      'turn-started',
      'turn-started',
      'human-message',
      'turn-started',
      'turn-ended',
    ]);
  });

  test('a turn that fails ends too, and its error is told', async ({ start, folders }) => {
    const watcher = await start({ env: ENV });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await post(watcher, payload(chat, 'StopFailure', { error: 'rate_limit' }));
    const { trail } = await sessionWhen(watcher, chat, (session) => session.trail.length === 2);
    expect(trail).toMatchObject([{ kind: 'turn-ended' }, { kind: 'error-entry', detail: { error: 'rate_limit' } }]);
  });

  test('the end of the process does not end the watch; /clear does', async ({ start, folders }) => {
    const watcher = await start({ env: ENV });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await post(watcher, payload(chat, 'Stop'));
    await post(watcher, payload(chat, 'SessionEnd', { reason: 'prompt_input_exit' }));
    await eventually(async () => (await counted(watcher, 'SessionEnd', 'applied')) === 1);
    expect((await sessionWhen(watcher, chat, () => true)).armed).toBe(true);
    await post(watcher, payload(chat, 'SessionEnd', { reason: 'clear' }));
    await sessionWhen(watcher, chat, ({ state }) => state === 'closed');
  });

  test('the same payload twice is one; two ends of one prompt are two', async ({ start, folders }) => {
    const watcher = await start({ env: ENV });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    const stop = payload(chat, 'Stop');
    await post(watcher, stop);
    await post(watcher, stop);
    await eventually(async () => (await counted(watcher, 'Stop', 'duplicate')) === 1);
    expect((await sessionWhen(watcher, chat, () => true)).generation).toBe(1);
  });

  test('whatever comes with the right token is answered {}, and counted', async ({ start, folders }) => {
    const watcher = await start({ env: ENV });
    const chat = new Chat(folders.transcripts);
    for (const body of [
      '',
      'no json',
      '[]',
      { hook_event_name: 'PreToolUse' },
      payload(chat, 'SubagentStop'),
      { hook_event_name: 'Stop' },
    ]) {
      const answer = await post(watcher, body);
      expect([answer.status, await answer.text()]).toEqual([200, '{}']);
    }
    expect([
      await counted(watcher, 'none', 'refused'),
      await counted(watcher, 'Stop', 'refused'),
      await counted(watcher, 'other', 'ignored'),
    ]).toEqual([3, 1, 2]);
    const outside = payload(chat, 'Stop', { transcript_path: '/etc/passwd' });
    expect((await post(watcher, outside)).status).toBe(200);
    await eventually(async () => (await counted(watcher, 'Stop', 'refused')) === 2);
    expect((await watcher.call(`/v1/sessions/${chat.sessionId}`)).status).toBe(404);
  });

  test('a large prompt is taken, one beyond reason is left alone', async ({ start, folders }) => {
    const watcher = await start({ env: ENV });
    const chat = new Chat(folders.transcripts);
    await post(watcher, payload(chat, 'UserPromptSubmit', { prompt: 'x'.repeat(2_000_000) }));
    await sessionWhen(watcher, chat, ({ trail }) => trail.length === 2);
    const answer = await post(watcher, payload(chat, 'UserPromptSubmit', { prompt: 'x'.repeat(17_000_000) }));
    expect([answer.status, await answer.text()]).toEqual([200, '{}']);
  });

  test('a session that webhooks tell of stays theirs', async ({ start, folders }) => {
    const watcher = await start({ env: ENV });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await watcher.deliver(turnEnded(chat));
    await post(watcher, payload(chat, 'SessionEnd', { reason: 'clear' }));
    await post(watcher, payload(chat, 'Stop'));
    await eventually(async () => (await counted(watcher, 'Stop', 'not-ours')) === 1);
    const { armed, generation } = await sessionWhen(watcher, chat, () => true);
    expect({ armed, generation }).toEqual({ armed: true, generation: 1 });
  });

  test('a webhook takes a session over from hooks', async ({ start, folders }) => {
    const watcher = await start({ env: ENV });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    await post(watcher, payload(chat, 'Stop'));
    await sessionWhen(watcher, chat, ({ armed }) => armed);
    expect((await watcher.deliver(event('message.human', chat, {}, Date.now() + 100))).status).toBe(202);
  });
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('who may send hooks', () => {
  test('a chat server’s hook token or its own; nobody else, and no one without', async ({ start }) => {
    const watcher = await start({ env: { ...ENV, CHAT_SERVER_TOKEN: 'own-token' } });
    const status = async (headers: Record<string, string>) => (await post(watcher, {}, headers)).status;
    expect([await status(bearer(HOOK_TOKEN)), await status(bearer('own-token'))]).toEqual([200, 200]);
    expect([await status({}), await status(bearer('wrong')), await status({ authorization: 'Bearer ' })]).toEqual([
      401, 401, 401,
    ]);
  });

  test('with signed webhooks and no token: nobody', async ({ start }) => {
    expect((await post(await start(), {}, {})).status).toBe(401);
  });

  test('without any secret: whoever is on loopback, but no web page', async ({ start }) => {
    const watcher = await start({ env: { WEBHOOK_SECRETS: '' } });
    expect((await post(watcher, {}, {})).status).toBe(200);
    expect((await post(watcher, {}, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await fetch(`${watcher.url}/v1/hooks/claude-code`)).status).toBe(405);
  });
});

describe('the process of a session', () => {
  test('is recorded as the hook names it, and only where it is of this machine', async ({ start, folders }) => {
    const dataDir = join(folders.root, 'data');
    const watcher = await start({ env: { ...ENV, DATA_DIR: dataDir } });
    const processes = sessionProcesses(join(dataDir, SESSION_PROCESSES));
    const claude = spawn('sleep', ['60'], { stdio: 'ignore' });
    await once(claude, 'spawn');
    const known = identify(claude.pid ?? 0);
    const [chat, elsewhere] = [new Chat(folders.transcripts), new Chat(folders.transcripts)];

    await post(watcher, payload(elsewhere, 'SessionStart', { claude_process: { ...known, startTicks: '1' } }));
    await post(watcher, payload(chat, 'SessionStart', { source: 'startup', claude_process: known }));
    expect(await eventually(() => processes.of(chat.sessionId))).toEqual(known);
    expect(await processes.of(elsewhere.sessionId)).toBeUndefined();

    // In the same process another chat takes its place.
    await post(watcher, payload(chat, 'SessionEnd', { reason: 'clear' }));
    await eventually(async () => (await processes.of(chat.sessionId)) === undefined);
    claude.kill('SIGKILL');
    await once(claude, 'exit');
  });
});
