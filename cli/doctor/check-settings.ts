import { loadSettings, SettingsError, type Environment, type LoadedSettings } from '#shared/settings/environment.js';
import { note, ok, wrong, type Finding } from './finding.ts';

const TODO = 'Correct it; docs/settings.md lists every setting.';

/** The settings as a process would take them; `undefined`: none would start. */
export function checkSettings(env: Environment): { findings: Finding[]; loaded: LoadedSettings | undefined } {
  try {
    const loaded = loadSettings(env);
    const { settings, warnings } = loaded;
    const open = settings.adminToken === undefined;
    const unsigned = settings.chatServers.filter(({ webhookSecrets }) => webhookSecrets.length === 0);
    return {
      loaded,
      findings: [
        ...(warnings.length === 0
          ? [ok('settings', `Valid; chat servers: ${settings.chatServers.map(({ id }) => id).join(', ')}.`)]
          : warnings.map((warning) => wrong('settings', `${warning}.`, TODO))),
        ...(open
          ? [note('settings', 'No ADMIN_TOKEN: everybody on this machine is the operator.', 'Set one but for a demo.')]
          : []),
        ...unsigned.map(({ id }) =>
          note('settings', `Deliveries of ${id} are not signed.`, 'Set WEBHOOK_SECRETS but for a demo.'),
        ),
        ...(settings.dryRun ? [note('settings', 'RECOVERY_DRY_RUN is on: nothing is nudged.')] : []),
      ],
    };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return {
      loaded: undefined,
      findings: error.problems.map(({ field, message }) => wrong('settings', `${field} ${message}.`, TODO)),
    };
  }
}
