import { createServer, type AddressInfo } from 'node:net';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess, type TestProcess } from './processes.ts';

/** A port that nobody had a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export const ADMIN_TOKEN = 'admin-token-of-a-test';
export const CHAT_SERVER_TOKEN = 'chat-server-token-of-a-test';
const SECRET = `whsec_${Buffer.from('a secret of the end-to-end tests').toString('base64')}`;

export interface DeploymentOptions {
  redisUrl: string;
  tag: string;
  workers?: number;
  /** Beside what a deployment needs. */
  env?: Record<string, string>;
  chatServerEnv?: Record<string, string>;
  /** The `recovery:` block of the project `demo`. */
  recovery?: Record<string, unknown>;
}

/** A whole deployment as separate processes: watcher, workers and the example chat server. */
export class Deployment {
  readonly dir = mkdtempSync(join(tmpdir(), 'chat-recovery-e2e-'));
  readonly options: DeploymentOptions;
  watcherUrl = '';
  chatsUrl = '';
  watcher: TestProcess | undefined;
  chatServer: TestProcess | undefined;
  workers: TestProcess[] = [];

  private constructor(options: DeploymentOptions) {
    this.options = options;
  }

  static async start(options: DeploymentOptions): Promise<Deployment> {
    const deployment = new Deployment(options);
    const [watcherPort, chatsPort] = [await freePort(), await freePort()];
    deployment.watcherUrl = `http://127.0.0.1:${watcherPort}`;
    deployment.chatsUrl = `http://127.0.0.1:${chatsPort}`;
    deployment.setRecovery(options.recovery ?? { autoReDrive: true, debounceMs: 300 });
    await Promise.all([deployment.startServices(), deployment.startChatServer()]);
    return deployment;
  }

  async startServices(): Promise<void> {
    const workers = Array.from({ length: this.options.workers ?? 2 }, () => this.startWorker());
    this.watcher = await this.startWatcher();
    this.workers = await Promise.all(workers);
  }

  startWatcher(): Promise<TestProcess> {
    return startProcess({ file: 'services/watcher/main.ts', env: this.environment() });
  }
  startWorker(): Promise<TestProcess> {
    return startProcess({ file: 'services/recovery-worker/main.ts', env: this.environment() });
  }

  async startChatServer(): Promise<void> {
    this.chatServer = await startProcess({
      file: 'examples/chat-server/main.ts',
      env: {
        PORT: new URL(this.chatsUrl).port,
        DATA_DIR: join(this.dir, 'chats'),
        PROJECTS_DIR: join(this.dir, 'projects'),
        WEBHOOK_URL: `${this.watcherUrl}/v1/events`,
        WEBHOOK_SECRET: SECRET,
        SESSION_API_TOKEN: 'session-api-token',
        RECOVERY_TOKEN: CHAT_SERVER_TOKEN,
        REPLY_MS: '50',
        KILL_MS: '300',
        COMPLETE_MS: '300',
        ...this.options.chatServerEnv,
      },
    });
  }

  /** Watcher and workers. */
  services(): TestProcess[] {
    return [this.watcher, ...this.workers].filter((process) => process !== undefined);
  }

  /** The project's own block; `undefined` values leave a field out. */
  setRecovery(recovery: Record<string, unknown>): void {
    const folder = join(this.dir, 'projects', 'demo');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'project.yaml'), JSON.stringify({ recovery }));
  }

  async createChat(
    script: string,
    more: Record<string, unknown> = {},
  ): Promise<{ sessionId: string; transcriptPath: string }> {
    const chat = await this.chats('/chats', 'POST', { project: 'demo', script, ...more });
    return chat as { sessionId: string; transcriptPath: string };
  }

  async chats(path: string, method = 'GET', body?: unknown): Promise<unknown> {
    return json(await call(`${this.chatsUrl}${path}`, method, 'session-api-token', body));
  }

  /** The watcher's API as its operator. */
  async api(path: string, method = 'GET', body?: unknown): Promise<{ status: number; body: Record<string, unknown> }> {
    const response = await call(`${this.watcherUrl}${path}`, method, ADMIN_TOKEN, body);
    return { status: response.status, body: (await json(response)) as Record<string, unknown> };
  }

  async session(sessionId: string): Promise<Record<string, unknown> & { state: string; trail: { kind: string }[] }> {
    const { status, body } = await this.api(`/v1/sessions/${sessionId}`);
    if (status !== 200) throw new Error(`session ${sessionId}: ${status} ${JSON.stringify(body)}`);
    return body as Record<string, unknown> & { state: string; trail: { kind: string }[] };
  }

  async stop(): Promise<void> {
    await Promise.all([...this.services(), this.chatServer].map(async (process) => process?.stop('SIGTERM')));
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** What watcher and workers are told. */
  environment(): Record<string, string> {
    return {
      REDIS_URL: this.options.redisUrl,
      REDIS_HASH_TAG: this.options.tag,
      PORT: new URL(this.watcherUrl).port,
      WEBHOOK_SECRETS: SECRET,
      ADMIN_TOKEN,
      CHAT_SERVER_TOKEN,
      SESSION_API_URL: this.chatsUrl,
      SESSION_API_TOKEN: 'session-api-token',
      PROJECTS_DIR: join(this.dir, 'projects'),
      TRANSCRIPT_ROOTS: join(this.dir, 'chats', 'claude-home', 'projects'),
      RECOVERY_SETTLE_MS: '0',
      ...this.options.env,
    };
  }
}

/** Nudges as the transcript shows them: prompts that begin with the label. Independent of the services' own counts. */
export function nudgesIn(transcriptPath: string, label = 'Paddock recovery'): number {
  return promptsIn(transcriptPath).filter((text) => text.includes(`[${label}]`)).length;
}

/** Text of every prompt on the main chain, in file order. */
export function promptsIn(transcriptPath: string): string[] {
  return entriesOf(transcriptPath).flatMap(({ type, message }) =>
    type === 'user' && typeof message?.content === 'string' ? [message.content] : [],
  );
}

/** As much of an entry as tests look at. */
export interface TranscriptEntry {
  type?: string;
  operation?: string;
  content?: string;
  origin?: { kind?: string };
  message?: { content?: unknown };
}

/** Every whole line of a transcript, parsed. */
export function entriesOf(transcriptPath: string): TranscriptEntry[] {
  const lines = readFileSync(transcriptPath, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as TranscriptEntry);
}

function call(url: string, method: string, token: string, body: unknown): Promise<Response> {
  return fetch(url, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function json(response: Response): Promise<unknown> {
  const text = await response.text();
  return text === '' ? {} : (JSON.parse(text) as unknown);
}
