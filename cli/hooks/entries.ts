/**
 * Our hooks in Claude Code's settings: which they are, how they are told from others, how they are put in and taken out. Pure.
 */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonMap = { [key: string]: Json };

/** Events that Claude Code sends over HTTP by itself. */
export const HTTP_EVENTS = ['Stop', 'StopFailure', 'UserPromptSubmit', 'SessionEnd'] as const;
/** Not over HTTP (Claude Code leaves such a hook out in silence): a command sends it on. */
export const COMMAND_EVENT = 'SessionStart';
export const EVENTS = [COMMAND_EVENT, ...HTTP_EVENTS] as const;
export type HookEvent = (typeof EVENTS)[number];

export const HOOK_PATH = '/v1/hooks/claude-code';
export const SCRIPT_NAME = 'chat-recovery-session-start.mjs';

/** Seconds. A hook holds the chat up for as long as it takes; the watcher answers in milliseconds. */
const TIMEOUT_S = 3;

export interface Wanted {
  /** Whole address of the watcher's hook route. */
  url: string;
  /** Variable that holds the token, in Claude Code's own environment; never the token itself. */
  tokenVariable: string | undefined;
  /** The command of the SessionStart hook. */
  command: string;
}

/** The settings do not have the shape that Claude Code reads. */
export class OddSettings extends Error {}

/** The settings with our hooks, and with every other hook where it was. The same object comes back where nothing is to change. */
export function withHooks(settings: JsonMap, wanted: Wanted): JsonMap {
  if (EVENTS.every((event) => same(ownIn(settings, event), [entryFor(event, wanted)]))) return settings;
  const cleared = withoutHooks(settings);
  const hooks = { ...mapAt(cleared, 'hooks') };
  for (const event of EVENTS) hooks[event] = [...listAt(hooks, event), { hooks: [entryFor(event, wanted)] }];
  return { ...cleared, hooks };
}

/** The settings without our hooks; what was only there for them goes too. */
export function withoutHooks(settings: JsonMap): JsonMap {
  if (EVENTS.every((event) => ownIn(settings, event).length === 0)) return settings;
  const hooks = { ...mapAt(settings, 'hooks') };
  for (const event of EVENTS) {
    if (ownIn(settings, event).length === 0) continue;
    const groups = listAt(hooks, event).flatMap((group) => withoutOurs(group));
    if (groups.length > 0) hooks[event] = groups;
    else delete hooks[event];
  }
  const { hooks: _before, ...others } = settings;
  return Object.keys(hooks).length === 0 ? others : { ...settings, hooks };
}

/** Our entries for an event, whatever their address and age. */
export function ownIn(settings: JsonMap, event: HookEvent): JsonMap[] {
  return listAt(mapAt(settings, 'hooks'), event).flatMap((group) => entriesOf(group).filter(isOurs));
}

function entryFor(event: HookEvent, { url, tokenVariable, command }: Wanted): JsonMap {
  if (event === COMMAND_EVENT) return { type: 'command', command, timeout: TIMEOUT_S };
  const token: JsonMap =
    tokenVariable === undefined
      ? {}
      : { headers: { Authorization: `Bearer $${tokenVariable}` }, allowedEnvVars: [tokenVariable] };
  return { type: 'http', url, timeout: TIMEOUT_S, ...token };
}

function withoutOurs(group: Json): Json[] {
  const entries = entriesOf(group);
  const others = entries.filter((entry) => !isOurs(entry));
  if (others.length === entries.length) return [group];
  return others.length === 0 || !isMap(group) ? [] : [{ ...group, hooks: others }];
}

function isOurs(entry: Json): entry is JsonMap {
  if (!isMap(entry)) return false;
  const { url, command } = entry;
  const isRoute = typeof url === 'string' && url.split('?')[0]?.endsWith(HOOK_PATH) === true;
  return isRoute || (typeof command === 'string' && command.includes(SCRIPT_NAME));
}

function entriesOf(group: Json): Json[] {
  const entries = isMap(group) ? group['hooks'] : undefined;
  return Array.isArray(entries) ? entries : [];
}

function mapAt(settings: JsonMap, key: string): JsonMap {
  const value = settings[key];
  if (value === undefined) return {};
  if (!isMap(value)) throw new OddSettings(`"${key}" is not an object`);
  return value;
}

function listAt(hooks: JsonMap, event: string): Json[] {
  const value = hooks[event];
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw new OddSettings(`"hooks.${event}" is not a list`);
  return value;
}

export const isMap = (value: Json | undefined): value is JsonMap =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const same = (a: Json, b: Json): boolean => JSON.stringify(a) === JSON.stringify(b);
