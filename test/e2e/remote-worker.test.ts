import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { createServer, connect, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startExampleChatServer } from '../../examples/chat-server/start.ts';
import { eventually } from '../support/events.ts';
import { otherMachine, otherMachineImpossible } from '../support/network-namespace.ts';
import { ROOT } from '../support/processes.ts';
import { describe, expect, SECRET, test } from '../integration/watcher/harness.ts';

const TOKEN = 'a token';
const QUICK = { replyMs: 30, killMs: 300, lateKillMs: 300, completeMs: 30, wakeMs: 5 };

/** Redis listens on loopback alone; the other machine reaches it through this. */
async function forward(
  host: string,
  targetUrl: string,
): Promise<{ port: number; server: Server; sockets: Set<Socket> }> {
  const target = Number(new URL(targetUrl).port);
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, server, sockets };
}

describe.skipIf(otherMachineImpossible() !== undefined)('a worker on another machine', () => {
  test('recovers a chat whose transcript it cannot open, through the session API', async ({ redis, start }) => {
    const dataDir = realpathSync(mkdtempSync(join(tmpdir(), 'remote-worker-')));
    const machine = otherMachine(dataDir);
    const wire = await forward(machine.hostAddress, redis.url);
    const chats = await startExampleChatServer({ dataDir, host: machine.hostAddress, token: TOKEN, timings: QUICK });
    const sessionApi = { SESSION_API_URL: chats.url, SESSION_API_TOKEN: TOKEN };
    const watcher = await start({
      env: {
        ...sessionApi,
        TRANSCRIPT_ROOTS: join(chats.claudeHome, 'projects'),
        PADDOCK_RECOVERY_AUTODRIVE: '1',
        PADDOCK_RECOVERY_DEBOUNCE_MS: '300',
      },
    });
    chats.setWebhook({ url: `${watcher.url}/v1/events`, secret: SECRET });

    const worker = machine.spawn(
      process.execPath,
      ['--import', 'tsx', '--conditions=source', 'services/recovery-worker/main.ts'],
      {
        cwd: ROOT,
        env: {
          PATH: process.env['PATH'] ?? '',
          HOME: process.env['HOME'] ?? '/',
          REDIS_URL: `redis://${machine.hostAddress}:${wire.port}`,
          REDIS_HASH_TAG: redis.tag,
          TRANSCRIPT_SOURCE: 'http',
          RECOVERY_SETTLE_MS: '0',
          ...sessionApi,
        },
      },
    );
    let output = '';
    for (const stream of [worker.stdout, worker.stderr])
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    const exited = new Promise((resolve) => worker.once('exit', resolve));
    try {
      await eventually(() => output.includes('worker ready'), { timeoutMs: 20_000, what: 'the worker to be ready' });
      const chat = await chats.chats.create({ project: 'demo', prompt: 'Please build.', script: 'hang' });
      // There is a transcript, and none on the other machine.
      await eventually(() => machine.succeeds('test', ['-d', dataDir]));
      expect(machine.succeeds('test', ['-e', chat.record.transcriptPath])).toBe(false);
      const nudged = chats.happenings.wait(
        ({ sessionId, kind, fields }) =>
          sessionId === chat.id && kind === 'turn.ended' && fields['cause'] === 'recovery',
        30_000,
      );
      await nudged;
      expect(chats.happenings.past(chat.id).filter(({ kind }) => kind === 'nudge.accepted')).toHaveLength(1);
    } catch (error) {
      throw new Error(`${String(error)}\nThe worker said:\n${output}`, { cause: error });
    } finally {
      worker.kill('SIGTERM');
      await exited;
      await watcher.stop();
      await chats.close();
      for (const socket of wire.sockets) socket.destroy();
      await new Promise((resolve) => wire.server.close(resolve));
      machine.remove();
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
