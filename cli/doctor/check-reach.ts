import { SessionApiFailure } from '#shared/session-api/driver.js';
import type { Drivers } from '#shared/session-api/drivers.js';
import type { ProcessSettings } from '#shared/settings/environment.js';
import { note, ok, reasonOf, skipped, wrong, type Finding } from './finding.ts';

const WITHIN_MS = 5_000;

/** Each chat server's session API: there, and its token taken. */
export async function checkSessionApis(
  settings: Pick<ProcessSettings, 'chatServers'>,
  drivers: Drivers,
): Promise<Finding[]> {
  const remote = await Promise.all(drivers.remote().map(checkOne));
  const local = settings.chatServers
    .filter(({ sessionApi }) => sessionApi.driver === 'exec')
    .map(({ id }) => skipped(`session API of ${id}`, 'It is a command: only the workers’ machine can tell.'));
  return [...remote, ...local];
}

async function checkOne({ serverId, driver }: ReturnType<Drivers['remote']>[number]): Promise<Finding> {
  const part = `session API of ${serverId}`;
  if (!driver.canSend)
    return note(part, 'None: hangs are shown, nothing is nudged.', 'Set SESSION_API_URL to let chats be nudged.');
  try {
    await driver.probe(AbortSignal.timeout(WITHIN_MS));
    return ok(part, 'It answers, and takes our token.');
  } catch (error) {
    const refused = error instanceof SessionApiFailure && error.class === 'refused';
    if (refused)
      return wrong(part, `It refuses us: ${reasonOf(error)}.`, 'Give both the same token (SESSION_API_TOKEN).');
    return wrong(
      part,
      `It does not answer: ${reasonOf(error)}.`,
      'Start the chat server, or correct SESSION_API_URL. Its recoveries wait until then.',
    );
  }
}

/** The watcher at the address of these settings, by its own word. */
export async function checkWatcher({
  host,
  port,
  basePath,
}: Pick<ProcessSettings, 'host' | 'port' | 'basePath'>): Promise<Finding> {
  if (port === 0) return skipped('watcher', 'PORT is 0: nobody knows where it listens.');
  const url = `http://${reachable(host)}:${port}`;
  try {
    const answer = await fetch(`${url}${basePath ?? ''}/readyz`, { signal: AbortSignal.timeout(WITHIN_MS) });
    const body = (await answer.json()) as { status?: unknown };
    if (answer.status === 200) return ok('watcher', `Ready at ${url}.`);
    return wrong('watcher', `At ${url} it says ${String(body.status)}.`, `Look at ${url}/readyz: it names the part.`);
  } catch (error) {
    return wrong(
      'watcher',
      `Nothing answers at ${url}: ${reasonOf(error)}.`,
      'Start it (npm run start:watcher), or correct HOST and PORT here.',
    );
  }
}

/** An address that one listens on for all networks is reached at loopback. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}
