import { join, resolve } from 'node:path';
import { createLifecycleClient, type WebhookTarget } from '../../shared/client/index.ts';
import { listen } from '../../shared/platform/http-server.ts';
import { createApp } from './app.ts';
import { Chats } from './chats.ts';
import type { ClaudeOptions } from './claude-environment.ts';
import { createClaudeRuntime } from './claude-runtime.ts';
import { Happenings } from './happenings.ts';
import type { RecoveryTarget } from './recovery-proxy.ts';
import { createScriptedRuntime } from './scripted-runtime.ts';
import type { Timings } from './scripts.ts';

export interface ExampleChatServerOptions {
  /** Chats, keys, outbox and `claude-home` live here. */
  dataDir: string;
  /** Working directories of the projects; `<dataDir>/projects`. */
  projectsDir?: string | undefined;
  /** Loopback unless there is a token. */
  host?: string | undefined;
  /** 0: any free port. */
  port?: number | undefined;
  /** Bearer token of the session API and of the control calls; none: everybody on this machine. */
  token?: string | undefined;
  /** Where lifecycle events go; may be set later with `setWebhook`, until then they wait on disk. */
  webhook?: WebhookTarget | undefined;
  /** Serve the chat page at `/`, for this machine's user; unless given: where `host` is loopback. */
  page?: boolean | undefined;
  /** The watcher, asked for the page's notice. */
  recovery?: RecoveryTarget | undefined;
  runtime?: 'scripted' | 'claude' | undefined;
  /** Pace of scripted chats. */
  timings?: Partial<Timings> | undefined;
  /** For the claude runtime. */
  claude?: ClaudeOptions | undefined;
  /** Errors of our own; standard error unless given. */
  log?: ((error: unknown) => void) | undefined;
}

export interface ExampleChatServer {
  url: string;
  chats: Chats;
  /** What happens, for demos and tests. */
  happenings: Happenings;
  /** Holds `projects/<encoded cwd>/<session>.jsonl`: the root for the watcher's `TRANSCRIPT_ROOTS`. */
  claudeHome: string;
  setWebhook(target: WebhookTarget | undefined): void;
  /** Deliveries that nobody has confirmed yet. */
  pendingWebhooks(): number;
  /** Stops everything; chats stay open for the next start. Idempotent. */
  close(): Promise<void>;
}

/** Starts the example chat server in this process. */
export async function startExampleChatServer(options: ExampleChatServerOptions): Promise<ExampleChatServer> {
  const { host = '127.0.0.1', port = 0, token, log = console.error } = options;
  if (token === undefined && !isLoopback(host)) {
    throw new Error(`Without SESSION_API_TOKEN the chat server listens on loopback only, not on ${host}.`);
  }
  const dataDir = resolve(options.dataDir);
  const happenings = new Happenings();
  const webhooks = createLifecycleClient({
    outboxDir: join(dataDir, 'outbox'),
    target: options.webhook,
    report: ({ what, sessionId = '', ...fields }) => happenings.tell(sessionId, `webhook.${what}`, fields),
  });
  const claudeHome = join(dataDir, 'claude-home');
  const chats = new Chats({
    dataDir,
    projectsDir: resolve(options.projectsDir ?? join(dataDir, 'projects')),
    runtime:
      options.runtime === 'claude'
        ? createClaudeRuntime({ ...options.claude, claudeHome })
        : createScriptedRuntime(options.timings),
    webhooks,
    happenings,
  });
  await chats.takeUp();
  const server = await listen(
    createApp({ chats, happenings, token, page: options.page ?? isLoopback(host), recovery: options.recovery, log }),
    {
      host,
      port,
      name: 'The chat server',
      graceMs: 500,
    },
  );
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await server.close();
    await chats.close();
    await webhooks.close();
  };
  return {
    url: server.url,
    chats,
    happenings,
    claudeHome,
    setWebhook: (target) => webhooks.setTarget(target),
    pendingWebhooks: () => webhooks.pending(),
    close: () => (closing ??= close()),
  };
}

const isLoopback = (host: string): boolean => host === 'localhost' || host === '::1' || host.startsWith('127.');
