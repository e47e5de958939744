import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../../support/events.ts';
import { describe, expect } from '../../support/leaks.ts';
import { startProcess, type TestProcess } from '../../support/processes.ts';
import { call, createChat, nudge, SECRET, test, transcript, type World } from './world.ts';

const FILE = 'examples/chat-server/main.ts';
const QUICK = { REPLY_MS: '30', KILL_MS: '30' };

/** Runs the process for one step of a test and ends it in any case. */
async function running(
  world: World,
  env: Record<string, string>,
  step: (server: { url: string; process: TestProcess }) => Promise<void>,
): Promise<void> {
  const process = await startProcess({ file: FILE, env: { PORT: '0', DATA_DIR: world.dir, ...QUICK, ...env } });
  try {
    await step({ url: /"url":"([^"]+)"/.exec(process.readyLine)?.[1] ?? '', process });
  } finally {
    await process.stop('SIGKILL');
  }
}

/** Waits until the killed task's notice stands in the file. */
const hangs = (path: string) =>
  eventually(() => existsSync(path) && readFileSync(path, 'utf8').includes('<status>killed</status>'));

describe('the chat server as a process', () => {
  test('killed in the middle of a nudged turn it remembers the key and tells the turn as failed', async ({ world }) => {
    let chat = { sessionId: '', transcriptPath: '' };
    let turnId: string | undefined;
    await running(world, {}, async (server) => {
      chat = await createChat(server, { script: 'hang' });
      await hangs(chat.transcriptPath);
    });
    await running(world, { REPLY_MS: '60000' }, async (server) => {
      ({ turnId } = (await nudge(server, chat.sessionId, 'k1')).body);
      await server.process.stop('SIGKILL');
    });
    const nudges = () =>
      transcript(chat.transcriptPath).filter(
        ({ operation, content }) => operation === 'enqueue' && content?.startsWith('[Paddock'),
      ).length;
    expect(nudges()).toBe(1);
    const receiver = await world.receiver();
    await running(world, { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: SECRET }, async (server) => {
      expect(await nudge(server, chat.sessionId, 'k1')).toMatchObject({ status: 202, body: { turnId } });
      const failed = await eventually(() =>
        receiver.received.find(({ event }) => event.type === 'turn.ended' && event.data.outcome === 'failed'),
      );
      expect(failed.event.data).toMatchObject({ turnId, cause: 'recovery' });
      expect(nudges()).toBe(1);
    });
  });

  test('SIGTERM ends it with status 0 and closes no chat', async ({ world }) => {
    const receiver = await world.receiver();
    await running(world, { WEBHOOK_URL: receiver.url, WEBHOOK_SECRET: SECRET }, async (server) => {
      const chat = await createChat(server, { script: 'hang' });
      await hangs(chat.transcriptPath);
      await eventually(() => receiver.received.some(({ event }) => event.type === 'turn.ended'));
      expect(await server.process.stop()).toMatchObject({ code: 0 });
    });
    expect(receiver.received.map(({ event }) => event.type)).not.toContain('session.closed');
  });

  test('START_CHATS starts chats by itself', async ({ world }) => {
    await running(world, { START_CHATS: 'hang,plain' }, async (server) => {
      const chats = await eventually(async () => {
        const { body } = await call<{ chats: { script: string }[] }>(server, 'GET', '/chats');
        return body.chats.length === 2 ? body.chats : undefined;
      });
      expect(chats.map(({ script }) => script).toSorted()).toEqual(['hang', 'plain']);
    });
  });

  test.for([
    [{ PORT: 'many' }, /PORT/],
    [{ RUNTIME: 'dream' }, /RUNTIME/],
    [{ START_CHATS: 'hang,nothing' }, /START_CHATS/],
    [{ HOST: '0.0.0.0' }, /SESSION_API_TOKEN/],
  ] as const)('with %o it does not start and names the variable', async ([env, named], { world }) => {
    const process = await startProcess({
      file: FILE,
      env: { PORT: '0', DATA_DIR: join(world.dir, 'x'), ...env },
      ready: undefined,
    });
    expect(await process.exited).toMatchObject({ code: 1 });
    expect(process.lines.join('\n')).toMatch(named);
  });
});
