import { randomBytes } from 'node:crypto';
import { join } from 'node:path';

/** Where a run of the demo has its things. */
export interface Place {
  dir: string;
  /** Projects' folders: settings of each, and working directories of the chats. */
  projects: string;
  redisUrl: string;
  watcherPort: number;
  chatServerPort: number;
  /** Signs the webhooks. */
  secret: string;
  /** Opens the session API. */
  token: string;
}

export const loopback = (port: number): string => `http://127.0.0.1:${port}`;

/** What watcher and workers read. */
export function serviceEnvironment(place: Place): NodeJS.ProcessEnv {
  const claudeHome = join(chatData(place), 'claude-home');
  return {
    REDIS_URL: place.redisUrl,
    // A Redis that others use too (REDIS_URL) gets a corner of its own for the demo.
    REDIS_HASH_TAG: `demo-${randomBytes(6).toString('hex')}`,
    HOST: '127.0.0.1',
    PORT: String(place.watcherPort),
    DATA_DIR: place.dir,
    WEBHOOK_SECRETS: place.secret,
    SESSION_API_URL: loopback(place.chatServerPort),
    SESSION_API_TOKEN: place.token,
    PROJECTS_DIR: place.projects,
    TRANSCRIPT_ROOTS: join(claudeHome, 'projects'),
    CLAUDE_HOME: claudeHome,
    // Nothing was hung before the demo began: no need to let things settle first.
    RECOVERY_SETTLE_MS: '0',
  };
}

/** What the example chat server reads. */
export function chatServerEnvironment(place: Place): NodeJS.ProcessEnv {
  return {
    HOST: '127.0.0.1',
    PORT: String(place.chatServerPort),
    DATA_DIR: chatData(place),
    PROJECTS_DIR: place.projects,
    WEBHOOK_URL: `${loopback(place.watcherPort)}/v1/events`,
    WEBHOOK_SECRET: place.secret,
    SESSION_API_TOKEN: place.token,
  };
}

/** What a program needs to run at all: nothing of the caller's settings may change what the demo shows. */
export function bareEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = ['PATH', 'HOME', 'TMPDIR', 'LANG', 'XDG_CACHE_HOME'];
  return Object.fromEntries(names.map((name) => [name, env[name]]).filter(([, value]) => value !== undefined));
}

function chatData({ dir }: Place): string {
  return join(dir, 'chat-server');
}
