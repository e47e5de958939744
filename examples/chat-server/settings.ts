import { z } from 'zod';
import type { ExampleChatServerOptions } from './start.ts';
import { isScript } from './scripts.ts';

const filled = (text: string | undefined): string | undefined => (text === '' ? undefined : text);
const optional = z.string().optional().transform(filled);
const milliseconds = z.coerce.number().int().min(0).optional();

/** Every variable that `main.ts` reads. */
const environmentSchema = z.object({
  HOST: z.string().default('127.0.0.1').describe('Address to listen on; only loopback without SESSION_API_TOKEN.'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8790).describe('0: any free port.'),
  DATA_DIR: z.string().default('./data/chat-server').describe('Chats, keys, outbox and claude-home.'),
  PROJECTS_DIR: optional.describe('Working directories of the projects; <DATA_DIR>/projects.'),
  WEBHOOK_URL: optional.describe('Where lifecycle events go, e.g. http://127.0.0.1:8787/v1/events.'),
  WEBHOOK_SECRET: optional.describe('Signs them: whsec_ and base64, or plain text.'),
  SESSION_API_TOKEN: optional.describe('Bearer token that callers must bring.'),
  CHAT_PAGE: z.enum(['on', 'off']).optional().describe('The page at `/`; on where HOST is loopback.'),
  RECOVERY_URL: optional.describe('The watcher, for the page’s notice; where WEBHOOK_URL is, unless given.'),
  RECOVERY_TOKEN: optional.describe('What the watcher wants of this server; none where it asks for none.'),
  RUNTIME: z.enum(['scripted', 'claude']).default('scripted').describe('Real Claude Code with `claude`.'),
  START_CHATS: optional
    .transform((list) => list?.split(',').map((name) => name.trim()) ?? [])
    .refine((names) => names.every((name) => isScript(name)), 'names an unknown script')
    .describe('Scripts to start a chat of, once listening: hang,healthy'),
  REPLY_MS: milliseconds.describe('Scripted: from a prompt to its reply.'),
  KILL_MS: milliseconds.describe('Scripted: from the turn’s end to the kill.'),
  LATE_KILL_MS: milliseconds.describe('Scripted: the same for `hang-late`.'),
  COMPLETE_MS: milliseconds.describe('Scripted: from the turn’s end to the completion.'),
  ANTHROPIC_API_KEY: optional.describe('Claude: the key that sessions get.'),
  ANTHROPIC_BASE_URL: optional.describe('Claude: where the model API is.'),
  CLAUDE_MODEL: optional.describe('Claude: the model.'),
  CLAUDE_PERMISSION_MODE: z
    .enum(['default', 'acceptEdits', 'bypassPermissions'])
    .default('default')
    .describe('Claude: what sessions may do unasked.'),
});

export interface MainSettings {
  options: ExampleChatServerOptions;
  startChats: string[];
}

/** Settings of the process. Throws one readable error that names every wrong variable. */
export function settingsFromEnvironment(environment: NodeJS.ProcessEnv): MainSettings {
  const parsed = environmentSchema.safeParse(environment);
  if (!parsed.success) throw new Error(`Wrong environment:\n${z.prettifyError(parsed.error)}`);
  const env = parsed.data;
  const timings = {
    replyMs: env.REPLY_MS,
    killMs: env.KILL_MS,
    lateKillMs: env.LATE_KILL_MS,
    completeMs: env.COMPLETE_MS,
  };
  return {
    startChats: env.START_CHATS,
    options: {
      host: env.HOST,
      port: env.PORT,
      dataDir: env.DATA_DIR,
      projectsDir: env.PROJECTS_DIR,
      token: env.SESSION_API_TOKEN,
      webhook: env.WEBHOOK_URL === undefined ? undefined : { url: env.WEBHOOK_URL, secret: env.WEBHOOK_SECRET },
      page: env.CHAT_PAGE === undefined ? undefined : env.CHAT_PAGE === 'on',
      recovery: recoveryOf(env),
      runtime: env.RUNTIME,
      timings: Object.fromEntries(Object.entries(timings).filter(([, value]) => value !== undefined)),
      claude: {
        apiKey: env.ANTHROPIC_API_KEY,
        baseUrl: env.ANTHROPIC_BASE_URL,
        model: env.CLAUDE_MODEL,
        permissionMode: env.CLAUDE_PERMISSION_MODE,
      },
    },
  };
}

function recoveryOf({ RECOVERY_URL, RECOVERY_TOKEN, WEBHOOK_URL }: z.output<typeof environmentSchema>) {
  const url = RECOVERY_URL ?? (WEBHOOK_URL === undefined ? undefined : new URL('..', WEBHOOK_URL).href);
  return url === undefined ? undefined : { url, token: RECOVERY_TOKEN };
}
