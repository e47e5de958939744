import { z } from 'zod';
import { count, durationMs, flag } from './kinds.ts';
import { keysOf, recordFrom } from './records.ts';
import { defaultsOf, metaOf, setting, type SettingValues } from './setting.ts';

/** The five recovery settings (SPEC §3): those that a project may override. */
export const recoveryShape = {
  surfaceKilledTask: setting(flag, true, {
    variable: 'PADDOCK_RECOVERY_SURFACE',
    theme: 'recovery',
    doc: 'Layer 2: show that a background task was killed, and offer a manual Continue.',
  }),
  autoReDrive: setting(flag, false, {
    variable: 'PADDOCK_RECOVERY_AUTODRIVE',
    theme: 'recovery',
    doc: 'Layer 3: nudge a hung chat automatically.',
  }),
  debounceMs: setting(durationMs, 5_000, {
    variable: 'PADDOCK_RECOVERY_DEBOUNCE_MS',
    theme: 'recovery',
    doc: 'How long the notification must have stood un-answered before a nudge.',
  }),
  maxRetries: setting(count(), 1, {
    variable: 'PADDOCK_RECOVERY_MAX_RETRIES',
    theme: 'recovery',
    doc: 'Automatic nudges per session between two human messages; 0: none.',
  }),
  limboTimeoutMs: setting(durationMs, 0, {
    variable: 'PADDOCK_RECOVERY_LIMBO_MS',
    theme: 'recovery',
    doc: 'After this much silence following a killed task the session is shown as stuck; 0: never.',
  }),
};

export const recoverySchema = z.object(recoveryShape);

/** What `PATCH /v1/projects/{slug}/recovery` takes: any of the five in its exact type; `null` takes a field away. */
export const recoveryChangeSchema = z.strictObject(
  recordFrom<Record<keyof typeof recoveryShape, z.ZodType>>(keysOf(recoveryShape), (key) => {
    const { kind, doc } = metaOf(recoveryShape[key]);
    return kind.strict.nullable().optional().describe(doc);
  }),
);

export interface RecoverySettings extends SettingValues<typeof recoveryShape> {}

export const RECOVERY_DEFAULTS: Readonly<RecoverySettings> = defaultsOf(recoveryShape);

/** Lowest to highest. */
export const SETTING_SOURCES = ['default', 'file', 'environment', 'project'] as const;
export type SettingSource = (typeof SETTING_SOURCES)[number];

/** Values in force for one project, and where each comes from. */
export interface EffectiveSettings {
  values: RecoverySettings;
  sources: Record<keyof RecoverySettings, SettingSource>;
}
