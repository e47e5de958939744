import type { z } from 'zod';
import { chatServerShape } from './chat-server-schema.ts';
import { processShape } from './process-schema.ts';
import { recoveryShape } from './recovery.ts';
import { sessionApiShape } from './session-api-schema.ts';
import { metaOf, type SettingShape, type Theme } from './setting.ts';

/** One setting as documents and tools list it. */
export interface CatalogueEntry {
  /** Where it stands in the instance file: `port`, `recovery.debounceMs`, `chatServers[].sessionApi.url`. */
  key: string;
  variable: string;
  theme: Theme;
  doc: string;
  /** `switch`, `number`, `duration`, `size`, `path`, … */
  type: string;
  /** The default as one would write it; `undefined` where there is no fixed one. */
  default: string | undefined;
  /** The default for a table: `default`, or words. */
  defaultText: string;
  secret: boolean;
  /** Taken without a restart, and open to each project's `project.yaml`. */
  live: boolean;
}

/** Every setting with its variable, in the order of the documents. */
export const SETTINGS_CATALOGUE: readonly CatalogueEntry[] = [
  ...entriesOf(recoveryShape, 'recovery.'),
  ...entriesOf(processShape, ''),
  ...entriesOf(chatServerShape, 'chatServers[].'),
  ...entriesOf(sessionApiShape, 'chatServers[].sessionApi.'),
];

function entriesOf(shape: SettingShape, at: string): CatalogueEntry[] {
  return Object.entries(shape).map(([key, schema]) => entryOf(`${at}${key}`, schema));
}

function entryOf(key: string, schema: z.ZodType): CatalogueEntry {
  const { variable, theme, doc, kind, secret, defaultDoc } = metaOf(schema);
  const value: unknown = schema.parse(undefined);
  const byDefault = value === undefined ? undefined : kind.show(value);
  const defaultText = defaultDoc ?? (byDefault === undefined ? 'unset' : `\`${byDefault}\``);
  return {
    key,
    variable,
    theme,
    doc,
    type: kind.name,
    default: byDefault,
    defaultText,
    secret: secret === true,
    live: theme === 'recovery',
  };
}
