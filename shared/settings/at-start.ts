import { loadSettings, SettingsError, type Environment, type LoadedSettings } from './environment.ts';

/** Wrong settings end a process with the status of wrong usage. */
const WRONG_USAGE = 2;

/** The settings of a process that starts, or its end with every wrong field named, one sentence each and no stack. */
export function settingsAtStart(env: Environment): LoadedSettings {
  try {
    return loadSettings(env);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(WRONG_USAGE);
  }
}
