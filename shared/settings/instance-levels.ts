import { isDeepStrictEqual } from 'node:util';
import { loadSettings, settingsOfFile, SettingsError, type Environment, type ProcessSettings } from './environment.ts';
import { InstanceFileError, readInstanceFile } from './instance-file.ts';
import { effectiveRecovery, readEnvironment, readRecoveryBlock, type RecoveryLevels } from './precedence.ts';
import { recoveryShape } from './recovery.ts';

/** The two levels that all projects share: the instance file's `recovery:` block and the environment. */
export interface InstanceLevels {
  current(): RecoveryLevels;
  /** What is wrong now with the instance file and the environment. */
  warnings(): readonly string[];
  /** Reads the file again; true where the instance's effective values changed. A file that is broken changes nothing. */
  reload(): boolean;
}

/** Reads both levels; the file that is read is `settings.configFile`. */
export function createInstanceLevels(settings: ProcessSettings, env: Environment): InstanceLevels {
  const environment = readEnvironment(recoveryShape, env).values;
  let levels: RecoveryLevels = { environment };
  let warnings: readonly string[] = [];

  const reload = (): boolean => {
    const before = effectiveRecovery(levels);
    try {
      const file = settings.configFile === undefined ? {} : readInstanceFile(settings.configFile);
      levels = { environment, file: readRecoveryBlock(file['recovery'], '').values };
      warnings = reviewProcessSettings(settings, env, file);
    } catch (error) {
      if (!(error instanceof InstanceFileError)) throw error;
      warnings = [`${error.message}; the last good values stay in force`];
    }
    return !isDeepStrictEqual(before, effectiveRecovery(levels));
  };
  reload();
  return { current: () => levels, warnings: () => warnings, reload };
}

/** Process settings are read at start alone: an edit of one is named, so that nobody waits for its effect. */
function reviewProcessSettings(settings: ProcessSettings, env: Environment, file: Record<string, unknown>): string[] {
  try {
    const { configFile } = settings;
    const next = configFile === undefined ? loadSettings(env, file) : settingsOfFile(env, file, configFile);
    const pairs = Object.entries({ ...next.settings, configFile });
    const running = new Map<string, unknown>(Object.entries(settings));
    const changed = pairs.filter(([key, value]) => !isDeepStrictEqual(value, running.get(key))).map(([key]) => key);
    const later = `The instance file has another value for ${changed.join(', ')}: it takes effect at the next start`;
    return changed.length === 0 ? next.warnings : [...next.warnings, later];
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return error.problems.map(({ field, message }) => `${field} ${message}; the next start would fail`);
  }
}
