/** PLACEHOLDER that the settings room replaces: the shape that everything else relies on. */
export interface RecoverySettings {
  surfaceKilledTask: boolean;
  autoReDrive: boolean;
  debounceMs: number;
  maxRetries: number;
  limboTimeoutMs: number;
}
/** Lowest to highest. */
export const SETTING_SOURCES = ['default', 'file', 'environment', 'project'] as const;
export type SettingSource = (typeof SETTING_SOURCES)[number];

/** Values in force for one project, and where each comes from. */
export interface EffectiveSettings {
  values: RecoverySettings;
  sources: Record<keyof RecoverySettings, SettingSource>;
}
