import type { ProcessSettings } from '#shared/settings/environment.js';
import type { SessionApiSettings } from '#shared/settings/session-api.js';
import { createDriver, type DriverSurroundings } from './create-driver.ts';
import type { SessionDriver } from './driver.ts';

/** The drivers of a deployment: one for each chat server, and one more for each project that is reached another way. */
export interface Drivers {
  /** `undefined`: the settings know no such chat server. */
  of(serverId: string, project: string): SessionDriver | undefined;
  /**
   * Those that are reached over the network, for probes: a command is there on the workers' machine alone. A project's own is
   * named `<server>/<project>`.
   */
  remote(): { serverId: string; driver: SessionDriver }[];
  close(): Promise<void>;
}

export function createDrivers(
  settings: Pick<ProcessSettings, 'chatServers' | 'sessionApiTimeoutMs' | 'dataDir'>,
  rest: Omit<DriverSurroundings, 'timeoutMs' | 'dataDir'>,
): Drivers {
  const surroundings = { ...rest, timeoutMs: settings.sessionApiTimeoutMs, dataDir: settings.dataDir };
  const one = (serverId: string, project: string | undefined, sessionApi: SessionApiSettings) => ({
    serverId,
    project,
    isRemote: sessionApi.driver !== 'exec',
    driver: createDriver({ id: serverId, sessionApi }, surroundings),
  });
  const made = settings.chatServers.flatMap(({ id, sessionApi }) => [
    one(id, undefined, sessionApi),
    ...Object.entries(sessionApi.projects ?? {}).map(([project, own]) => one(id, project, own)),
  ]);
  const find = (serverId: string, project: string | undefined) =>
    made.find((entry) => entry.serverId === serverId && entry.project === project)?.driver;
  return {
    of: (serverId, project) => find(serverId, project) ?? find(serverId, undefined),
    remote: () =>
      made
        .filter(({ isRemote, project, driver }) => isRemote && (project === undefined || driver.canSend))
        .map(({ serverId, project, driver }) => ({
          serverId: project === undefined ? serverId : `${serverId}/${project === '' ? '~root' : project}`,
          driver,
        })),
    async close() {
      await Promise.all(made.map(({ driver }) => driver.close()));
    },
  };
}
