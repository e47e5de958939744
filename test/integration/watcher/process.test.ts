import { createServer } from 'node:net';
import { once } from 'node:events';
import { eventually } from '../../support/events.ts';
import { startProcess, type TestProcess } from '../../support/processes.ts';
import { Chat } from './chat.ts';
import { ADMIN, deliver, describe, expect, SECRET, test, turnEnded, type Folders } from './harness.ts';

const environment = (folders: Folders, redis: { url: string; tag: string }) => ({
  HOME: folders.root,
  PORT: '0',
  REDIS_URL: redis.url,
  REDIS_HASH_TAG: redis.tag,
  WEBHOOK_SECRETS: SECRET,
  ADMIN_TOKEN: ADMIN,
  TRANSCRIPT_ROOTS: folders.transcripts,
});

const urlOf = (watcher: TestProcess): string => /http:\/\/[\d.]+:\d+/.exec(watcher.readyLine)?.[0] ?? '';

describe('the watcher as a process', () => {
  test('answers, sees a kill, ends with 0 on SIGTERM, and logs no secret', async ({ folders, redis }) => {
    const watcher = await startProcess({
      file: 'services/watcher/main.ts',
      env: { ...environment(folders, redis), LOG_LEVEL: 'debug' },
    });
    const url = urlOf(watcher);
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    expect((await deliver(url, turnEnded(chat), { id: 'msg_correlated' })).status).toBe(202);
    await chat.kill();
    const headers = { authorization: `Bearer ${ADMIN}` };
    await eventually(async () => {
      const session = await fetch(`${url}/v1/sessions/${chat.sessionId}`, { headers });
      return ((await session.json()) as { state: string }).state === 'killed';
    });

    expect(await watcher.stop()).toEqual({ code: 0, signal: null });
    const log = watcher.lines.join('\n');
    expect(log).toContain('msg_correlated');
    expect(log).not.toContain(ADMIN);
    expect(log).not.toContain(SECRET);
    expect(log).not.toContain('v1,');
  });

  test('kill -9 between turn end and kill: the next one surfaces it', async ({ folders, redis }) => {
    const env = environment(folders, redis);
    const first = await startProcess({ file: 'services/watcher/main.ts', env });
    const chat = new Chat(folders.transcripts);
    await chat.begin();
    expect((await deliver(urlOf(first), turnEnded(chat))).status).toBe(202);
    await first.stop('SIGKILL');
    await chat.kill();

    const second = await startProcess({ file: 'services/watcher/main.ts', env });
    const headers = { authorization: `Bearer ${ADMIN}` };
    await eventually(async () => {
      const session = await fetch(`${urlOf(second)}/v1/sessions/${chat.sessionId}`, { headers });
      return ((await session.json()) as { state: string }).state === 'killed';
    });
    await second.stop();
  });

  test('a port that is taken ends the start with a sentence that names it', async ({ folders, redis }) => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? String(address.port) : '';
    const watcher = await startProcess({
      file: 'services/watcher/main.ts',
      env: { ...environment(folders, redis), PORT: port },
      ready: undefined,
    });
    expect(await watcher.exited).toEqual({ code: 1, signal: null });
    expect(watcher.lines.join('\n')).toContain(`127.0.0.1:${port}`);
    other.close();
  });
});
