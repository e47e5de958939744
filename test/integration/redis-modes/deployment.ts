import { randomUUID } from 'node:crypto';
import { loadSettings } from '#shared/settings/environment.js';
import { buildWorker, type WorkerService } from '../../../services/recovery-worker/build.ts';
import { SessionApiStandIn } from '../../support/session-api-stand-in.ts';
import { TestTranscript } from '../../support/transcript.ts';
import { makeFolders, startWatcher, turnEnded, type Folders, type RunningWatcher } from '../watcher/harness.ts';

/** A watcher and workers in this process over any Redis, with a session API that counts turns. */
export interface SmallDeployment {
  watcher: RunningWatcher;
  workers: WorkerService[];
  api: SessionApiStandIn;
  folders: Folders;
  tag: string;
  /** A chat whose turn has ended with a background task under way; known to the session API, its end not told yet. */
  chat(): SmallChat;
  close(): Promise<void>;
}

export interface SmallChat {
  sessionId: string;
  path: string;
  transcript: TestTranscript;
  /** Tells the watcher of the turn's end. */
  turnEnded(): Promise<Response>;
  /** The background task is killed. */
  kill(): void;
}

export interface SmallOptions {
  redisUrl: string;
  workers?: number;
  env?: Record<string, string>;
}

export async function deploy({ redisUrl, workers = 1, env = {} }: SmallOptions): Promise<SmallDeployment> {
  const tag = `test-${randomUUID()}`;
  const folders = await makeFolders();
  const api = await SessionApiStandIn.start();
  const common = {
    SESSION_API_URL: api.url,
    PADDOCK_RECOVERY_AUTODRIVE: 'true',
    PADDOCK_RECOVERY_DEBOUNCE_MS: '300',
    RECOVERY_SETTLE_MS: '0',
    ...env,
  };
  const watcher = await startWatcher(folders, { redisUrl, tag, env: common, connectWithinMs: 10_000 });
  const { settings } = loadSettings({
    HOME: folders.root,
    REDIS_URL: redisUrl,
    REDIS_HASH_TAG: tag,
    TRANSCRIPT_ROOTS: folders.transcripts,
    LOG_LEVEL: 'silent',
    ...common,
  });
  const services = Array.from({ length: workers }, () => buildWorker(settings));
  await Promise.all(services.map((service) => service.ready()));
  return {
    watcher,
    workers: services,
    api,
    folders,
    tag,
    chat: () => makeChat(folders, watcher, api),
    async close() {
      await watcher.stop();
      await Promise.all(services.map((service) => service.close()));
      await api.close();
      await folders.remove();
    },
  };
}

function makeChat(folders: Folders, watcher: RunningWatcher, api: SessionApiStandIn): SmallChat {
  const transcript = new TestTranscript(folders.transcripts);
  const { sessionId, path } = transcript;
  const task = transcript.turnWithBackgroundTask();
  api.add(sessionId, { project: 'p1' });
  return {
    sessionId,
    path,
    transcript,
    turnEnded: () => watcher.deliver(turnEnded({ sessionId, path })),
    kill: () => transcript.notice(task),
  };
}
