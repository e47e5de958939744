import { flag, reader, text, type Kind } from './kinds.ts';
import { isMap } from './precedence.ts';
import { optionalSetting } from './setting.ts';

/** A folder of transcripts: `theirs` as the sender writes it, `ours` as this process opens it. */
export interface TranscriptRoot {
  theirs: string;
  ours: string;
}

const secrets = list('list', 'must be a list of secrets, each plain text or whsec_ and base64', readSecret);
const roots = list(
  'list',
  'must be a list of folders, each `path` or `theirs=ours` ({ theirs, ours } in YAML)',
  readRoot,
);

/** One entry of `chatServers:`; the variables describe the only chat server, called `default`. */
export const chatServerShape = {
  webhookSecrets: optionalSetting(secrets, {
    variable: 'WEBHOOK_SECRETS',
    theme: 'chat-server',
    doc: 'Secrets that verify its webhooks (Standard Webhooks, `whsec_…`), separated by commas; several while one is being replaced.',
    defaultDoc: 'none: unsigned, loopback only',
    secret: true,
  }),
  accessToken: optionalSetting(text(), {
    variable: 'CHAT_SERVER_TOKEN',
    theme: 'chat-server',
    doc: 'Bearer token by which it may read and continue its own sessions, and mint tokens for single chats.',
    defaultDoc: 'none: only the operator may',
    secret: true,
  }),
  hookToken: optionalSetting(text(), {
    variable: 'HOOK_TOKEN',
    theme: 'chat-server',
    doc: 'Bearer token of Claude Code’s hooks (`POST /v1/hooks/claude-code`); without any secret they are taken on loopback.',
    defaultDoc: '`CHAT_SERVER_TOKEN`',
    secret: true,
  }),
  discover: optionalSetting(flag, {
    variable: 'DISCOVER',
    theme: 'chat-server',
    doc: 'Finds chats by their files under TRANSCRIPT_ROOTS, without any webhook or hook.',
    defaultDoc: '`false`',
  }),
  projectsDir: optionalSetting(text('path'), {
    variable: 'PROJECTS_DIR',
    theme: 'chat-server',
    doc: 'Folder of its projects, with `<slug>/project.yaml` in it.',
    defaultDoc: 'none: no project overrides',
  }),
  transcriptRoots: optionalSetting(roots, {
    variable: 'TRANSCRIPT_ROOTS',
    theme: 'chat-server',
    doc: 'Folders that transcripts may be read from, separated by commas; each `path`, or `theirs=ours` where the chat server sees it under another path.',
    defaultDoc: '`projects` in the Claude home',
  }),
  claudeHome: optionalSetting(text('path'), {
    variable: 'CLAUDE_HOME',
    theme: 'chat-server',
    doc: 'Claude Code’s home, for deliveries that name only a `cwd`.',
    defaultDoc: '`~/.claude`',
  }),
};

/** A list, in YAML also a single entry; as text its entries stand between commas. */
function list<T>(name: string, message: string, readItem: (item: unknown) => T | undefined): Kind<T[]> {
  const schema = reader(message, (value): T[] | undefined => {
    const items = Array.isArray(value) ? value : splitList(value);
    const read = items.map(readItem);
    return read.every((item) => item !== undefined) ? read : undefined;
  });
  return { name, schema, strict: schema, show: (value) => value.map(String).join(',') };
}

function splitList(value: unknown): unknown[] {
  if (typeof value !== 'string') return [value];
  return value.split(',').filter((item) => item.trim() !== '');
}

/** An empty key would verify anybody's signature, so what decodes to nothing is none. */
function readSecret(item: unknown): string | undefined {
  if (typeof item !== 'string' || item.trim() === '') return undefined;
  const secret = item.trim();
  return !secret.startsWith('whsec_') || /^whsec_[\w+/-]{2,}={0,2}$/.test(secret) ? secret : undefined;
}

function readRoot(item: unknown): TranscriptRoot | undefined {
  if (isMap(item)) {
    const { theirs, ours } = item;
    return isPath(theirs) && isPath(ours) ? { theirs: theirs.trim(), ours: ours.trim() } : undefined;
  }
  if (!isPath(item)) return undefined;
  const [theirs = '', ours = theirs] = item.split(/=(.*)/s).map((part) => part.trim());
  return theirs === '' || ours === '' ? undefined : { theirs, ours };
}

function isPath(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && !value.includes('\0');
}
