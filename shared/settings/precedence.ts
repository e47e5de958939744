import { keysOf, recordFrom } from './records.ts';
import { recoveryShape, RECOVERY_DEFAULTS, type EffectiveSettings, type RecoverySettings } from './recovery.ts';
import { metaOf, type SettingShape, type SettingValues } from './setting.ts';

/** A value that one level could not give, and why. */
export interface Fault {
  /** The field's name in the schema. */
  key: string;
  /** The field as its writer knows it: the variable, or the file and key. */
  where: string;
  message: string;
  /** The value as it was found, cut; `undefined` for a secret. */
  given: string | undefined;
  /** The value was ignored (true), or taken in a sense that was hardly meant (false). */
  ignored: boolean;
}

/** What one level says: only valid fields, and what was wrong with the others. */
export interface Level<V> {
  values: Partial<V>;
  faults: Fault[];
}

/** The variables as a process gets them. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads a shape's variables. A blank variable is unset: compose files pass on what is not set as `''`. */
export function readEnvironment<S extends SettingShape>(shape: S, env: Environment): Level<SettingValues<S>> {
  return readLevel(shape, (_key, variable) => {
    const value = env[variable];
    return { value: value?.trim() === '' ? undefined : value, where: variable };
  });
}

/**
 * Reads a shape's fields from a parsed YAML map. `null` and missing fields are unset; other keys are not looked at.
 * `where` names the block in front of the key, e.g. `project.yaml: recovery.`
 */
export function readBlock<S extends SettingShape>(shape: S, block: unknown, where: string): Level<SettingValues<S>> {
  if (block === undefined || block === null) return { values: {}, faults: [] };
  if (!isMap(block)) {
    const fault = {
      key: '',
      where: where.replace(/\.$/, ''),
      message: 'must be a map of settings',
      given: undefined,
      ignored: true,
    };
    return { values: {}, faults: [fault] };
  }
  return readLevel(shape, (key) => ({ value: block[key], where: `${where}${key}` }));
}

/** A plain map, as YAML and JSON give it. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** {@link readBlock} for a `recovery:` block, where a key that is none of the five is most likely a slip of the pen. */
export function readRecoveryBlock(block: unknown, where: string): Level<RecoverySettings> {
  const level = readBlock(recoveryShape, block, where);
  if (!isMap(block)) return level;
  const strange = Object.keys(block).filter((key) => !Object.hasOwn(recoveryShape, key));
  const faults = strange.map((key) => ({
    key,
    where: `${where}${key}`,
    message: 'is no recovery setting',
    given: undefined,
    ignored: true,
  }));
  return { values: level.values, faults: [...level.faults, ...faults] };
}

/** What is wrong with the value, in words. */
export function faultMessage({ message, given }: Fault): string {
  return given === undefined ? message : `${message}, not ${given}`;
}

/** The fault in a sentence for the log. */
export function faultText(fault: Fault): string {
  return `${fault.where} ${faultMessage(fault)}${fault.ignored ? '; it is ignored' : ''}`;
}

/** Merges levels field by field, the last that has a field wins; keeps where each value comes from. */
export function mergeLevels<V extends object, Source extends string>(
  defaults: V,
  levels: readonly (readonly [Source, Partial<V>])[],
): { values: V; sources: Record<keyof V, Source | 'default'> } {
  const values = { ...defaults };
  const from = new Map<keyof V, Source>();
  for (const [source, level] of levels) {
    for (const key of keysOf(defaults)) {
      const value = level[key];
      if (value === undefined) continue;
      values[key] = value;
      from.set(key, source);
    }
  }
  return { values, sources: recordFrom(keysOf(defaults), (key) => from.get(key) ?? 'default') };
}

/** What each level says of the five recovery settings; absent ones say nothing. */
export interface RecoveryLevels {
  file?: Partial<RecoverySettings> | undefined;
  environment?: Partial<RecoverySettings> | undefined;
  project?: Partial<RecoverySettings> | undefined;
}

/** Default < instance file < environment < project, field by field (SPEC §3). */
export function effectiveRecovery(levels: RecoveryLevels): EffectiveSettings {
  return mergeLevels(RECOVERY_DEFAULTS, [
    ['file', levels.file ?? {}],
    ['environment', levels.environment ?? {}],
    ['project', levels.project ?? {}],
  ]);
}

/**
 * The whole way from raw levels to effective settings, with a warning for each value that fell a level lower.
 * `file` and `project` are parsed `recovery:` blocks.
 */
export function resolveRecovery(raw: { file?: unknown; environment?: Environment; project?: unknown }): {
  effective: EffectiveSettings;
  warnings: string[];
} {
  const file = readRecoveryBlock(raw.file, 'recovery.');
  const environment = readEnvironment(recoveryShape, raw.environment ?? {});
  const project = readRecoveryBlock(raw.project, 'project.yaml: recovery.');
  return {
    effective: effectiveRecovery({ file: file.values, environment: environment.values, project: project.values }),
    warnings: [...file.faults, ...environment.faults, ...project.faults].map(faultText),
  };
}

function readLevel<S extends SettingShape>(
  shape: S,
  raw: (key: string, variable: string) => { value: unknown; where: string },
): Level<SettingValues<S>> {
  const values = new Map<string, unknown>();
  const faults: Fault[] = [];
  for (const [key, schema] of Object.entries(shape)) {
    const { variable, kind, secret } = metaOf(schema);
    const { value, where } = raw(key, variable);
    if (value === undefined || value === null) continue;
    const read = kind.schema.safeParse(value);
    if (read.success) values.set(key, read.data);
    const message = read.success ? kind.remark?.(value) : (read.error.issues[0]?.message ?? 'is not valid');
    if (message === undefined) continue;
    faults.push({ key, where, message, given: secret === true ? undefined : shown(value), ignored: !read.success });
  }
  const given = keysOf(shape).filter((key) => values.has(key));
  return { values: recordFrom<Partial<SettingValues<S>>>(given, (key) => values.get(String(key))), faults };
}

/** The value for a message, cut; not one that carries a password in a URL. */
function shown(value: unknown): string | undefined {
  const text = JSON.stringify(value) ?? String(value);
  if (/:\/\/[^/]*@/.test(text)) return undefined;
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
