/** What every program needs to find itself and its user; nothing of it is a secret. */
const ALWAYS = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR', 'TERM'];

/**
 * The environment that commands get: the few variables above and those that the settings name. This process's own secrets
 * (`ADMIN_TOKEN`, `REDIS_URL`, webhook secrets) never reach a program that an agent drives.
 */
export function commandEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  passed: readonly string[],
): Record<string, string> {
  const names = [...ALWAYS, ...passed];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = own[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
