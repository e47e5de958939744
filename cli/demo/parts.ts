import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { findRedis } from '../provision/find.ts';
import { freePort } from '../provision/free-port.ts';
import { launchRedis } from '../provision/launch.ts';
import { run } from '../provision/run.ts';
import type { ChildSpec } from '../supervise/child.ts';
import { startHttpService, startPlainService } from '../supervise/services.ts';
import { bareEnvironment, chatServerEnvironment, loopback, serviceEnvironment, type Place } from './environment.ts';

/** The one project of the demo: automatic recovery is on for it, by its own file. */
export const PROJECT = 'demo';
const PROJECT_FILE = 'recovery:\n  autoReDrive: true\n';

export interface PartsOptions {
  /** Temporary folder of everything that the demo writes. */
  dir: string;
  workers: number;
  /** The caller's environment. */
  env: NodeJS.ProcessEnv;
  /** More variables for the chat server (its runtime). */
  chatServerEnv: NodeJS.ProcessEnv;
  note: (sentence: string) => void;
}

export interface Parts {
  watcherUrl: string;
  chatServerUrl: string;
  /** Bearer token of the chat server. */
  token: string;
  redis: string;
  /** Folder of the parts' logs. */
  logs: string;
  /** Ends everything, last started first. Idempotent. */
  stop(): Promise<void>;
}

/** Redis, watcher, workers and chat server, on free loopback ports with fresh secrets. Leaves nothing running where it fails. */
export async function startParts(options: PartsOptions): Promise<Parts> {
  const stops: (() => Promise<void>)[] = [];
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= stopAll(stops));
  try {
    return { ...(await startAll(options, stops)), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function stopAll(stops: (() => Promise<void>)[]): Promise<void> {
  for (const stop of stops.toReversed()) await stop();
}

async function startAll(options: PartsOptions, stops: (() => Promise<void>)[]): Promise<Omit<Parts, 'stop'>> {
  const { dir, env, note } = options;
  const folders = { logs: join(dir, 'logs'), projects: join(dir, 'projects'), redis: join(dir, 'redis') };
  for (const folder of Object.values(folders)) await mkdir(folder, { recursive: true });
  await mkdir(join(folders.projects, PROJECT));
  await writeFile(join(folders.projects, PROJECT, 'project.yaml'), PROJECT_FILE);

  const found = await findRedis({ env, run, say: note });
  const redis = await launchRedis(found, { dir: folders.redis, durable: false, run });
  stops.push(() => redis.stop());
  const place: Place = {
    dir,
    projects: folders.projects,
    redisUrl: redis.url,
    watcherPort: await freePort(),
    chatServerPort: await freePort(),
    secret: `whsec_${randomBytes(24).toString('base64')}`,
    token: randomBytes(24).toString('base64url'),
  };
  await startServices(options, place, logWriter(folders.logs, stops), stops).catch((error: unknown) => {
    throw new Error(`${error instanceof Error ? error.message : String(error)} Its log is in ${folders.logs}.`);
  });
  const { token } = place;
  const [watcherUrl, chatServerUrl] = [loopback(place.watcherPort), loopback(place.chatServerPort)];
  return { watcherUrl, chatServerUrl, token, redis: redis.description, logs: folders.logs };
}

/** All at once: they wait for each other by themselves, and a newcomer waits for the slowest only. */
async function startServices(
  { env, workers, chatServerEnv }: PartsOptions,
  place: Place,
  onLine: ChildSpec['onLine'],
  stops: (() => Promise<void>)[],
): Promise<void> {
  const base = bareEnvironment(env);
  const service = { env: { ...base, ...serviceEnvironment(place) }, onLine };
  const chat = { env: { ...base, ...chatServerEnvironment(place), ...chatServerEnv }, onLine };
  const starting = [
    startHttpService(
      { name: 'chat-server', entry: 'examples/chat-server/main', ...chat },
      `${loopback(place.chatServerPort)}/healthz`,
    ),
    startHttpService(
      { name: 'watcher', entry: 'services/watcher/main', ...service },
      `${loopback(place.watcherPort)}/readyz`,
    ),
    ...Array.from({ length: workers }, (_, index) =>
      startPlainService({ name: `worker-${index + 1}`, entry: 'services/recovery-worker/main', ...service }),
    ),
  ];
  const outcomes = await Promise.allSettled(starting);
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') stops.push(() => outcome.value.stop());
  }
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Each part's output goes to a file of its own: the terminal is for the story. */
function logWriter(logs: string, stops: (() => Promise<void>)[]): (line: string, name: string) => void {
  const files = new Map<string, ReturnType<typeof createWriteStream>>();
  stops.push(async () => {
    for (const file of files.values()) await finished(file.end());
  });
  return (line, name) => {
    const file = files.get(name) ?? createWriteStream(join(logs, `${name}.log`), { flags: 'a' });
    files.set(name, file);
    file.write(`${line}\n`);
  };
}
