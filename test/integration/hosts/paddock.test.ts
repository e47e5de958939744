import { loadSettings } from '#shared/settings/environment.js';
import { buildWorker } from '../../../services/recovery-worker/build.ts';
import { eventually } from '../../support/events.ts';
import { PaddockStandIn, type StandInChat } from '../../support/paddock-stand-in.ts';
import { Chat } from '../watcher/chat.ts';
import { describe, expect, sessionWhen, test as watcherTest, type RunningWatcher } from '../watcher/harness.ts';

const AUTO = { PADDOCK_RECOVERY_AUTODRIVE: '1', PADDOCK_RECOVERY_DEBOUNCE_MS: '200' };

interface World {
  paddock: PaddockStandIn;
  watcher: RunningWatcher;
  /** A chat in Paddock and its transcript. */
  chat(project?: string): Promise<{ file: Chat; there: StandInChat; sessionId: string }>;
}

/** A Paddock as it is, a watcher that listens to it, and a worker that drives it: no webhook anywhere. */
const test = watcherTest.extend<{ world: World }>({
  world: async ({ redis, folders, start }, use) => {
    const paddock = await PaddockStandIn.start();
    const host = { SESSION_API_DRIVER: 'paddock', SESSION_API_URL: paddock.url, ...AUTO };
    const watcher = await start({ env: host });
    const { settings } = loadSettings({
      HOME: folders.root,
      REDIS_URL: redis.url,
      REDIS_HASH_TAG: redis.tag,
      TRANSCRIPT_ROOTS: folders.transcripts,
      LOG_LEVEL: 'silent',
      RECOVERY_SETTLE_MS: '0',
      SESSION_API_TIMEOUT_MS: '2000',
      ...host,
    });
    const worker = buildWorker(settings);
    await worker.ready();
    await watcher.background.caughtUp;
    await use({
      paddock,
      watcher,
      async chat(project = 'p1') {
        const file = new Chat(folders.transcripts, 'p1');
        await file.begin();
        return { file, there: paddock.add(file.sessionId, { projectSlug: project }), sessionId: file.sessionId };
      },
    });
    await worker.close();
    await paddock.close();
  },
});

const connected = (paddock: PaddockStandIn) => eventually(() => paddock.open > 0);

describe('a Paddock that knows nothing of recovery', () => {
  test('a chat whose task is killed after its turn is nudged once, and recovers', async ({ world }) => {
    const { paddock, watcher } = world;
    await connected(paddock);
    const { file, there, sessionId } = await world.chat();
    paddock.onTurn = (chat) => void file.nudgeAndReply().then(() => paddock.end(chat));
    paddock.begin(there);
    paddock.end(there);
    await sessionWhen(watcher, file, ({ armed }) => armed, 'the watch');
    await file.kill();
    const session = await sessionWhen(watcher, file, ({ trail }) => trail.some(({ kind }) => kind === 'recovered'));
    expect(paddock.said).toEqual([{ type: 'chat:continue', payload: { projectSlug: 'p1', sessionId } }]);
    const kinds = session.trail.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'nudged')).toHaveLength(1);
    expect(kinds).not.toContain('void');
  });

  test('the root workspace is a project like any other', async ({ world }) => {
    const { paddock, watcher } = world;
    paddock.projects.set('', { layer2: true });
    await connected(paddock);
    const { file, there } = await world.chat('');
    paddock.begin(there);
    paddock.end(there);
    await sessionWhen(watcher, file, ({ armed }) => armed);
    await file.kill();
    await eventually(() => paddock.said.length === 1);
    expect(paddock.said[0]?.payload.projectSlug).toBe('');
  });

  test('where Layer 2 is off there the nudge is refused, shown, and tried no more by itself', async ({ world }) => {
    const { paddock, watcher } = world;
    paddock.projects.set('p1', { layer2: false });
    await connected(paddock);
    const { file, there } = await world.chat();
    paddock.begin(there);
    paddock.end(there);
    await sessionWhen(watcher, file, ({ armed }) => armed);
    await file.kill();
    const session = await sessionWhen(watcher, file, ({ state }) => state === 'failed', 'the refusal');
    expect(JSON.stringify(session.trail)).toContain('paddock_ignored');
    expect(paddock.said).toHaveLength(1);
  });

  test('a chat that Paddock saw killed before anybody watched it is watched and nudged', async ({ world }) => {
    const { paddock } = world;
    await connected(paddock);
    const { file, there } = await world.chat();
    await file.kill();
    paddock.killedTask(there);
    await eventually(() => paddock.said.length === 1);
    expect(paddock.said[0]?.payload.sessionId).toBe(there.sessionId);
  });

  test('a chat whose turn runs, or in whose slot a message waits, is left alone', async ({ world }) => {
    const { paddock, watcher } = world;
    await connected(paddock);
    const { file, there } = await world.chat();
    paddock.begin(there);
    paddock.end(there);
    paddock.queue(there, 'And then this.');
    await sessionWhen(watcher, file, ({ armed }) => armed);
    await file.kill();
    await sessionWhen(watcher, file, ({ trail }) => trail.some(({ reason }) => reason === 'queued-follow-up'));
    expect(paddock.said).toEqual([]);
  });
});
