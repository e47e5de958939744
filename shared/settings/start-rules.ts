import type { ChatServer } from './chat-servers.ts';

/** Something that must stop a start: the field (variable, or key of the instance file) and what is wrong with it. */
export interface StartProblem {
  field: string;
  message: string;
}

/** Settings are wrong in a way that no fallback may cover. Names every field at once; never shows a value. */
export class SettingsError extends Error {
  readonly problems: readonly StartProblem[];

  constructor(problems: readonly StartProblem[]) {
    super(['The settings are not valid:', ...problems.map(({ field, message }) => `- ${field} ${message}`)].join('\n'));
    this.name = 'SettingsError';
    this.problems = problems;
  }
}

/** Rules across fields (SPEC §3 "Chat servers", §6 last paragraph). */
export function checkStart(settings: {
  host: string;
  adminToken: string | undefined;
  noticeWebhookUrl: string | undefined;
  noticeWebhookSecret: string | undefined;
  transcriptSource: 'file' | 'http';
  chatServers: readonly ChatServer[];
}): StartProblem[] {
  const { chatServers } = settings;
  return [
    ...checkOpenAddress(settings),
    ...checkIds(chatServers),
    ...checkSecrets(chatServers),
    ...checkTokens(settings),
    ...checkNotices(settings),
    ...checkTranscripts(settings),
  ];
}

/** True where only this machine can connect. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  return name === 'localhost' || name === '::1' || /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

function checkOpenAddress(settings: {
  host: string;
  adminToken: string | undefined;
  chatServers: readonly ChatServer[];
}): StartProblem[] {
  const { host, adminToken, chatServers } = settings;
  if (isLoopback(host)) return [];
  const why = `is needed because HOST ${host} is not loopback`;
  const open = chatServers.filter((server) => server.webhookSecrets.length === 0);
  const unsigned = open.map((server) => ({
    field: 'WEBHOOK_SECRETS',
    message: `(webhookSecrets of chat server ${server.id}) ${why}`,
  }));
  return adminToken === undefined ? [{ field: 'ADMIN_TOKEN', message: why }, ...unsigned] : unsigned;
}

/** Without a chat server that gives transcripts every one of them would be missing. */
function checkTranscripts(settings: {
  transcriptSource: 'file' | 'http';
  chatServers: readonly ChatServer[];
}): StartProblem[] {
  const { transcriptSource, chatServers } = settings;
  if (transcriptSource === 'file' || chatServers.length === 0) return [];
  if (chatServers.some(({ sessionApi }) => sessionApi.driver === 'http')) return [];
  return [{ field: 'TRANSCRIPT_SOURCE', message: 'is http, and no chat server has the driver http to read them by' }];
}

function checkIds(servers: readonly ChatServer[]): StartProblem[] {
  const ids = servers.map((server) => server.id);
  const twice = new Set(ids.filter((id, index) => ids.indexOf(id) !== index));
  return [...twice].map((id) => ({ field: 'chatServers', message: `names the id ${id} more than once` }));
}

/** The secret that verifies a delivery says who sent it, so no two servers may share one. */
function checkSecrets(servers: readonly ChatServer[]): StartProblem[] {
  const owners = new Map<string, ChatServer>();
  const problems = new Map<string, StartProblem>();
  for (const server of servers) {
    for (const key of server.webhookSecrets.map(keyOf)) {
      const owner = owners.get(key) ?? server;
      owners.set(key, owner);
      if (owner === server) continue;
      const message = `of chat servers ${owner.id} and ${server.id} share a secret: each needs its own`;
      problems.set(message, { field: 'webhookSecrets', message });
    }
  }
  return [...problems.values()];
}

/** The key that a secret stands for: `whsec_` and base64, or any other text as it is. */
function keyOf(secret: string): string {
  const base64 = /^whsec_(.*)$/.exec(secret)?.[1];
  return (base64 === undefined ? Buffer.from(secret) : Buffer.from(base64, 'base64')).toString('hex');
}

/** A token says who is asking, so each is one party's only. */
function checkTokens(settings: { adminToken: string | undefined; chatServers: readonly ChatServer[] }): StartProblem[] {
  const owners = new Map<string, string>(
    settings.adminToken === undefined ? [] : [[settings.adminToken, 'ADMIN_TOKEN']],
  );
  const problems: StartProblem[] = [];
  for (const server of settings.chatServers) {
    for (const field of ['accessToken', 'hookToken'] as const) {
      const token = server[field];
      if (token === undefined) continue;
      const owner = owners.get(token);
      if (owner !== undefined) problems.push({ field, message: `of chat server ${server.id} is that of ${owner} too` });
      owners.set(token, `chat server ${server.id}`);
    }
  }
  return problems;
}

function checkNotices(settings: {
  noticeWebhookUrl: string | undefined;
  noticeWebhookSecret: string | undefined;
}): StartProblem[] {
  if (settings.noticeWebhookUrl === undefined || settings.noticeWebhookSecret !== undefined) return [];
  return [{ field: 'NOTICE_WEBHOOK_SECRET', message: 'is needed to sign what goes to NOTICE_WEBHOOK_URL' }];
}
