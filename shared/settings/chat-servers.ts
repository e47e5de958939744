import { chatServerShape, type TranscriptRoot } from './chat-server-schema.ts';
import { absolute, type Places } from './paths.ts';
import { faultMessage, isMap, readBlock, readEnvironment, type Environment, type Level } from './precedence.ts';
import { expandReferences } from './references.ts';
import { readSessionApi, type ServerSessionApi } from './session-api.ts';
import { sessionApiShape } from './session-api-schema.ts';
import { metaOf, type SettingValues } from './setting.ts';
import type { StartProblem } from './start-rules.ts';

/** One chat server that this deployment serves. */
export interface ChatServer {
  id: string;
  /** Standard Webhooks secrets (`whsec_…` or plain); several for rotation; empty: unsigned, loopback only. */
  webhookSecrets: string[];
  sessionApi: ServerSessionApi;
  /** By which it may use the API for its own sessions; undefined: only the operator may. */
  accessToken?: string | undefined;
  /** By which Claude Code’s hooks tell of its sessions. */
  hookToken?: string | undefined;
  /** Its chats are found by their files. */
  discover?: boolean | undefined;
  /** Holds `<slug>/project.yaml`; undefined: no project overrides. */
  projectsDir: string | undefined;
  /** Paths of transcripts as the sender writes them, and as this process opens them; equal where nothing is mounted elsewhere. */
  transcriptRoots: TranscriptRoot[];
  /** Claude home for `cwd`-only deliveries; `~/.claude`. */
  claudeHome: string;
}

export interface ChatServersResult {
  servers: ChatServer[];
  problems: StartProblem[];
  warnings: string[];
}

type ServerLevel = Level<SettingValues<typeof chatServerShape>>;
type ApiLevel = Level<SettingValues<typeof sessionApiShape>>;
type Name = (field: string) => string;

/** The only chat server, as the environment describes it. */
export function serverFromEnvironment(env: Environment, places: Places): ChatServersResult {
  const level = readEnvironment(chatServerShape, env);
  const api = readEnvironment(sessionApiShape, env);
  return readServer({ id: 'default', level, api, projects: undefined, name: variableOf, places, warnings: [] });
}

/**
 * The entries of the instance file's `chatServers:` list. The variables of the single server do not apply then, and a
 * warning names those that are set, except where an entry refers to them.
 */
export function serversFromFile(listed: unknown, env: Environment, places: Places): ChatServersResult {
  if (!Array.isArray(listed) || listed.length === 0) {
    const problem = { field: 'chatServers', message: 'must be a list of at least one chat server' };
    return { servers: [], problems: [problem], warnings: [] };
  }
  const expanded = expandReferences<unknown[]>(listed, env, 'chatServers');
  const results = expanded.value.map((entry, index) => serverFromEntry(entry, index, places));
  const idle = [...VARIABLES.values()].filter((name) => isSet(env[name]) && !expanded.used.has(name));
  const overruled = `${idle.join(', ')} ${idle.length === 1 ? 'does' : 'do'} not apply: the instance file has chatServers`;
  return {
    servers: results.flatMap((result) => result.servers),
    problems: [...expanded.problems, ...results.flatMap((result) => result.problems)],
    warnings: [...results.flatMap((result) => result.warnings), ...(idle.length > 0 ? [overruled] : [])],
  };
}

function serverFromEntry(entry: unknown, index: number, places: Places): ChatServersResult {
  const at = `chatServers[${index}]`;
  if (!isMap(entry)) return { servers: [], problems: [{ field: at, message: 'must be a map' }], warnings: [] };
  const { id, sessionApi } = entry;
  if (typeof id !== 'string' || !/^[a-z0-9-]+$/.test(id)) {
    const problem = { field: `${at}.id`, message: 'must be lower-case letters, digits and - ([a-z0-9-]+)' };
    return { servers: [], problems: [problem], warnings: [] };
  }
  const known = ['id', 'sessionApi', ...Object.keys(chatServerShape)];
  const warnings = [
    ...unknownKeys(entry, known, at),
    ...(isMap(sessionApi)
      ? unknownKeys(sessionApi, ['projects', ...Object.keys(sessionApiShape)], `${at}.sessionApi`)
      : []),
  ];
  const level = readBlock(chatServerShape, entry, `${at}.`);
  const api = readBlock(sessionApiShape, sessionApi, `${at}.sessionApi.`);
  const projects = isMap(sessionApi) ? sessionApi['projects'] : undefined;
  return readServer({ id, level, api, projects, name: (field) => `${at}.${field}`, places, warnings });
}

function readServer(raw: {
  id: string;
  level: ServerLevel;
  api: ApiLevel;
  projects: unknown;
  name: Name;
  places: Places;
  warnings: string[];
}): ChatServersResult {
  const { id, level, name, places } = raw;
  const api = readSessionApi(raw.api, raw.projects, name);
  const problems = level.faults.map((fault) => ({ field: fault.where, message: faultMessage(fault) }));
  const claudeHome = absolute(level.values.claudeHome ?? '~/.claude', places);
  const listed = level.values.transcriptRoots ?? [];
  const roots = listed.length > 0 ? listed : [{ theirs: `${claudeHome}/projects`, ours: `${claudeHome}/projects` }];
  const doubtful = roots.filter((root) => root.theirs === root.ours && /^\/[^:]*:\//.test(root.ours));
  const server: ChatServer = {
    id,
    webhookSecrets: [...new Set(level.values.webhookSecrets)],
    sessionApi: api.sessionApi,
    accessToken: level.values.accessToken,
    hookToken: level.values.hookToken,
    discover: level.values.discover,
    projectsDir: level.values.projectsDir === undefined ? undefined : absolute(level.values.projectsDir, places),
    transcriptRoots: roots.map((root) => resolveRoot(root, places)),
    claudeHome,
  };
  const hints = doubtful.map(
    (root) => `${name('transcriptRoots')} ${root.ours} is one folder: entries stand between commas, pairs with =`,
  );
  return {
    servers: [server],
    problems: [...problems, ...api.problems],
    warnings: [...raw.warnings, ...api.warnings, ...hints],
  };
}

/** `theirs` is a path on the sender's side: only where both are one path is it resolved like ours. */
function resolveRoot(root: TranscriptRoot, places: Places): TranscriptRoot {
  const ours = absolute(root.ours, places);
  return { ours, theirs: root.theirs === root.ours ? ours : root.theirs.replace(/(?<=.)\/+$/, '') };
}

/** Field → variable of the single server. */
const VARIABLES: ReadonlyMap<string, string> = new Map([
  ...Object.entries(chatServerShape).map(([key, schema]) => [key, metaOf(schema).variable] as const),
  ...Object.entries(sessionApiShape).map(([key, schema]) => [`sessionApi.${key}`, metaOf(schema).variable] as const),
]);

const variableOf: Name = (field) => VARIABLES.get(field) ?? field;

/** One warning that names the keys which mean nothing, or none. */
export function unknownKeys(map: Record<string, unknown>, known: readonly string[], at: string): string[] {
  const strange = Object.keys(map).filter((key) => !known.includes(key));
  return strange.length === 0 ? [] : [`${at} has unknown keys that are ignored: ${strange.join(', ')}`];
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== '';
}
