import { homedir } from 'node:os';
import { serverFromEnvironment, serversFromFile, unknownKeys, type ChatServer } from './chat-servers.ts';
import { InstanceFileError, readInstanceFile } from './instance-file.ts';
import { absolute, type Places } from './paths.ts';
import {
  faultMessage,
  faultText,
  isMap,
  mergeLevels,
  readBlock,
  readEnvironment,
  readRecoveryBlock,
  type Environment,
  type Fault,
} from './precedence.ts';
import { processShape } from './process-schema.ts';
import { recoveryShape } from './recovery.ts';
import { expandReferences } from './references.ts';
import { defaultsOf, metaOf, type SettingValues } from './setting.ts';
import { checkStart, SettingsError, type StartProblem } from './start-rules.ts';

export type { ChatServer } from './chat-servers.ts';
export type { Environment } from './precedence.ts';
export { isLoopback, SettingsError } from './start-rules.ts';

/** Every process setting (the fields of `processShape`) and the chat servers. Durations are milliseconds, sizes bytes. */
export interface ProcessSettings extends SettingValues<typeof processShape> {
  /** From the YAML list `chatServers:`, else one called `default` from the environment. */
  chatServers: ChatServer[];
}

/** Which level each process setting came from, and what was wrong on the way. */
export interface LoadedSettings {
  settings: ProcessSettings;
  sources: Record<string, 'default' | 'file' | 'environment'>;
  warnings: string[];
}

/**
 * Process settings from the built-in defaults, the YAML instance file and the environment, the later the stronger, field by
 * field.
 *
 * `file` is a path or a parsed YAML map; without it the path in `CHAT_RECOVERY_CONFIG` is read, if there is one. Values that a
 * weaker level can stand in for are named in a warning. Throws {@link SettingsError}, which names every field, for what must
 * stop a start: an instance file that is missing or does not parse, an address of Redis or a chat server that is none, an open
 * HOST without secrets, chat servers that share an id or a secret.
 */
export function loadSettings(env: Environment, file?: unknown): LoadedSettings {
  const path = typeof file === 'string' ? file : file === undefined ? env['CHAT_RECOVERY_CONFIG'] : undefined;
  if (path === undefined || path.trim() === '') return resolveSettings(env, file ?? {}, '', placesOf(env));
  const configFile = absolute(path.trim(), placesOf(env));
  return settingsOfFile(env, readOrFail(configFile), configFile);
}

/** {@link loadSettings} for an instance file that was read already. */
export function settingsOfFile(env: Environment, file: Record<string, unknown>, configFile: string): LoadedSettings {
  const loaded = resolveSettings(env, file, `${configFile}: `, placesOf(env));
  return { ...loaded, settings: { ...loaded.settings, configFile } };
}

function placesOf(env: Environment): Places {
  return { home: env['HOME'] ?? env['USERPROFILE'] ?? homedir(), cwd: process.cwd() };
}

function readOrFail(path: string): Record<string, unknown> {
  try {
    return readInstanceFile(path);
  } catch (error) {
    if (!(error instanceof InstanceFileError)) throw error;
    throw new SettingsError([{ field: 'CHAT_RECOVERY_CONFIG', message: `(the instance file): ${error.message}` }]);
  }
}

/** `at` stands in front of the keys of the instance file wherever they are named. */
function resolveSettings(env: Environment, file: unknown, at: string, places: Places): LoadedSettings {
  if (!isMap(file)) throw new SettingsError([{ field: 'The instance file', message: 'must be a map of settings' }]);
  const secrets = expandReferences(pick(file, isSecret), env, '');
  const fileLevel = readBlock(processShape, { ...file, ...secrets.value }, at);
  const envLevel = readEnvironment(processShape, env);
  const merged = mergeLevels(defaultsOf(processShape), [
    ['file', fileLevel.values],
    ['environment', envLevel.values],
  ]);
  const listed = file['chatServers'] ?? undefined;
  const servers = listed === undefined ? serverFromEnvironment(env, places) : serversFromFile(listed, env, places);
  const settings: ProcessSettings = { ...merged.values, chatServers: servers.servers };

  const faults = [...fileLevel.faults, ...envLevel.faults];
  const problems: StartProblem[] = [
    ...secrets.problems.map((problem) => ({ ...problem, field: problem.field.replace(/^\./, '') })),
    ...faults.filter(stopsStart).map((fault) => ({ field: fault.where, message: faultMessage(fault) })),
    ...servers.problems,
    ...checkStart(settings),
  ];
  if (problems.length > 0) throw new SettingsError(problems);
  const soft = [...faults, ...recoveryFaults(file, at, env)].map(faultText);
  const warnings = [
    ...unknownKeys(file, knownKeys(), at === '' ? 'The instance file' : at.replace(': ', '')),
    ...soft,
    ...servers.warnings,
  ];
  const sources = { ...merged.sources, chatServers: listed === undefined ? serverSource(env) : ('file' as const) };
  return { settings, sources, warnings };
}

/** The recovery settings are read anew by the settings service; here only what is wrong with them. */
function recoveryFaults(file: Record<string, unknown>, at: string, env: Environment): Fault[] {
  return [
    ...readRecoveryBlock(file['recovery'], `${at}recovery.`).faults,
    ...readEnvironment(recoveryShape, env).faults,
  ];
}

function stopsStart(fault: Fault): boolean {
  const schema = Object.entries(processShape).find(([key]) => key === fault.key)?.[1];
  return fault.ignored && schema !== undefined && metaOf(schema).stopsStart === true;
}

function isSecret(key: string): boolean {
  const schema = Object.entries(processShape).find(([name]) => name === key)?.[1];
  return schema !== undefined && metaOf(schema).secret === true;
}

function pick(map: Record<string, unknown>, wanted: (key: string) => boolean): Record<string, unknown> {
  return Object.fromEntries(Object.entries(map).filter(([key]) => wanted(key)));
}

function knownKeys(): string[] {
  return [...Object.keys(processShape), 'recovery', 'chatServers'];
}

function serverSource(env: Environment): 'default' | 'environment' {
  const { servers } = serverFromEnvironment(env, { home: '/', cwd: '/' });
  const bare = serverFromEnvironment({}, { home: '/', cwd: '/' }).servers;
  return JSON.stringify(servers) === JSON.stringify(bare) ? 'default' : 'environment';
}
