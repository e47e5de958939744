import { choice, durationMs, isHttpUrl, reader, text, type Kind } from './kinds.ts';
import { optionalSetting } from './setting.ts';

/** Ways of reaching a chat server's sessions; `docs/hosts/` says which one fits which host. */
export const SESSION_API_DRIVERS = ['http', 'exec', 'paddock', 'herdctl', 'none'] as const;
export type SessionApiDriver = (typeof SESSION_API_DRIVERS)[number];

const httpUrl = text('URL', isHttpUrl, 'must be an http:// or https:// URL');

/** A command: its arguments one by one, so that no shell ever reads it. */
const command = stringList('command', 'must be a list of arguments (in a variable: a JSON list, ["claude","-p"])', {
  isItem: (item) => item !== '' && !item.includes('\0'),
  fromText: fromJson,
});
const names = stringList('list', 'must be a list of variables’ names', {
  isItem: (item) => /^[A-Za-z_]\w*$/.test(item),
  fromText: (line) => line.split(',').flatMap((item) => (item.trim() === '' ? [] : [item.trim()])),
});

/** The `sessionApi:` part of an entry; in `projects:` the same for one project. */
export const sessionApiShape = {
  driver: optionalSetting(choice(...SESSION_API_DRIVERS), {
    variable: 'SESSION_API_DRIVER',
    theme: 'chat-server',
    doc: 'How its sessions are reached: `http`, `exec` (a command), `paddock`, `herdctl`, or `none` to show hangs and never nudge.',
    defaultDoc: '`http` where there is an address, else `none`',
  }),
  url: optionalSetting(httpUrl, {
    variable: 'SESSION_API_URL',
    theme: 'chat-server',
    doc: 'Base address of its session API, or of Paddock or herdctl.',
    defaultDoc: 'none',
  }),
  token: optionalSetting(text(), {
    variable: 'SESSION_API_TOKEN',
    theme: 'chat-server',
    doc: 'Bearer token for its session API.',
    defaultDoc: 'none',
    secret: true,
  }),
  send: optionalSetting(command, {
    variable: 'SESSION_API_SEND',
    theme: 'chat-server',
    doc: 'exec: the command that sends, as a list; `{sessionId}` `{nudge}` `{nudgeLine}` `{cwd}` `{transcriptPath}` `{project}` are filled in.',
    defaultDoc: 'none',
  }),
  status: optionalSetting(command, {
    variable: 'SESSION_API_STATUS',
    theme: 'chat-server',
    doc: 'exec: the command that says what a session is doing, by JSON, a word or its exit status.',
    defaultDoc: 'none: idle when no process holds the session',
  }),
  into: optionalSetting(choice('resume', 'live'), {
    variable: 'SESSION_API_INTO',
    theme: 'chat-server',
    doc: 'exec: whether the command resumes the session (`resume`: never while a process holds it) or types into its process (`live`).',
    defaultDoc: '`resume`',
  }),
  passEnv: optionalSetting(names, {
    variable: 'SESSION_API_PASS_ENV',
    theme: 'chat-server',
    doc: 'exec: variables of the worker that commands get too, separated by commas; without it only PATH, HOME and the like.',
    defaultDoc: 'none',
  }),
  turnTimeoutMs: optionalSetting(durationMs, {
    variable: 'SESSION_API_TURN_TIMEOUT_MS',
    theme: 'chat-server',
    doc: 'exec, herdctl: how long a nudged turn may take.',
    defaultDoc: '`7200000`',
  }),
  agent: optionalSetting(text(), {
    variable: 'SESSION_API_AGENT',
    theme: 'chat-server',
    doc: 'herdctl: the agent whose sessions these are.',
    defaultDoc: 'the project’s slug',
  }),
  frame: optionalSetting(choice('continue', 'send'), {
    variable: 'SESSION_API_FRAME',
    theme: 'chat-server',
    doc: 'paddock: `continue` lets Paddock word the nudge (Layer 2 must be on there), `send` sends ours as a user’s message.',
    defaultDoc: '`continue`',
  }),
};

interface ListOptions {
  isItem: (item: string) => boolean;
  /** How a list stands in a variable. */
  fromText: (line: string) => unknown[] | undefined;
}

/** A list of texts that is not empty. */
function stringList(name: string, message: string, { isItem, fromText }: ListOptions): Kind<string[]> {
  const schema = reader(message, (value): string[] | undefined => {
    const items = typeof value === 'string' ? fromText(value) : Array.isArray(value) ? (value as unknown[]) : undefined;
    const texts = items?.map((item) => (typeof item === 'number' ? String(item) : item));
    return texts?.length !== 0 && texts?.every((item) => typeof item === 'string' && isItem(item)) === true
      ? (texts as string[])
      : undefined;
  });
  return { name, schema, strict: schema, show: (value) => JSON.stringify(value) };
}

function fromJson(line: string): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return Array.isArray(value) ? (value as unknown[]) : undefined;
  } catch {
    return undefined;
  }
}
