import { z } from 'zod';
import type { Kind } from './kinds.ts';
import { keysOf, recordFrom } from './records.ts';

/** Parts of the documents that settings are listed under. */
export const THEMES = {
  recovery: 'Recovery, per instance and per project',
  guards: 'Guards of automatic recovery',
  nudge: 'The nudge',
  watcher: 'Watcher',
  worker: 'Recovery worker',
  redis: 'Redis',
  transcripts: 'Transcripts and sessions',
  general: 'General',
  'chat-server': 'The only chat server',
} as const satisfies Record<string, string>;
export type Theme = keyof typeof THEMES;

/** What each setting's schema carries besides its type and default. */
export interface SettingMeta {
  variable: string;
  /** One sentence or two for people. */
  doc: string;
  theme: Theme;
  /** A bad value stops the start: falling back to the default would reach the wrong machine or data. */
  stopsStart?: boolean;
  /** Never shown; in YAML it may be a `${VARIABLE}` reference. */
  secret?: boolean;
  /** Words for the default where there is no fixed one. */
  defaultDoc?: string;
}

/** Where the settings' schemas keep their {@link SettingMeta}. */
export const settingMetas = z.registry<SettingMeta>();
/** And how their values are read and shown; a registry of zod takes plain data only. */
const settingKinds = new WeakMap<z.ZodType, Kind<unknown>>();

/** An object of settings, each schema registered in {@link settingMetas}. */
export type SettingShape = Record<string, z.ZodType>;
/** The values of a shape; every key is there. */
export type SettingValues<S extends SettingShape> = { [K in keyof S]: z.output<S[K]> };

/** A setting with a default. */
export function setting<T>(kind: Kind<T>, byDefault: NoInfer<T>, meta: SettingMeta): z.ZodType<T> {
  return enrol(
    z
      .unknown()
      .transform((value): unknown => value ?? byDefault)
      .pipe(kind.schema),
    kind,
    meta,
  );
}

/** A setting that may stay unset. */
export function optionalSetting<T>(kind: Kind<T>, meta: SettingMeta): z.ZodType<T | undefined> {
  return enrol(kind.schema.optional(), kind, meta);
}

function enrol<T>(schema: z.ZodType<T>, kind: Kind<unknown>, meta: SettingMeta): z.ZodType<T> {
  settingMetas.add(schema, meta);
  settingKinds.set(schema, kind);
  return schema;
}

/** The metadata and the kind of a setting's schema. Throws on a schema that is none: a mistake in this folder. */
export function metaOf(schema: z.ZodType): SettingMeta & { kind: Kind<unknown> } {
  const meta = settingMetas.get(schema);
  const kind = settingKinds.get(schema);
  if (meta === undefined || kind === undefined) throw new TypeError('not a setting');
  return { ...meta, kind };
}

/** The built-in values of a shape. */
export function defaultsOf<S extends SettingShape>(shape: S): SettingValues<S> {
  return recordFrom(keysOf(shape), (key) => shape[key]?.parse(undefined));
}
