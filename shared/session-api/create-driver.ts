import { join } from 'node:path';
import { SESSION_PROCESSES, sessionProcesses } from '#shared/liveness/session-processes.js';
import type { ChatServer } from '#shared/settings/environment.js';
import type { SessionApiSettings } from '#shared/settings/session-api.js';
import type { SessionDriver } from './driver.ts';
import { commandEnvironment } from './exec/environment.ts';
import { createExecDriver } from './exec/exec-driver.ts';
import { createHerdctlDriver } from './herdctl/herdctl-driver.ts';
import { createHttpDriver } from './http-driver.ts';
import type { DriverLog } from './log.ts';
import { createNoneDriver } from './none-driver.ts';
import type { PaddockLinks } from './paddock/links.ts';
import { createPaddockDriver } from './paddock/paddock-driver.ts';

/** What drivers need of their process. */
export interface DriverSurroundings {
  /** Deadline of one call. */
  timeoutMs: number;
  /** Locks and outputs of commands, and what hooks told of processes; workers of one machine share it. */
  dataDir: string;
  /** The process's own variables, of which commands get a few. */
  env: Readonly<Record<string, string | undefined>>;
  log: DriverLog;
  paddock: PaddockLinks;
}

/** Two hours: longer than any turn that a nudge begins should be, shorter than a day. */
const TURN_TIMEOUT_MS = 2 * 3_600_000;
/** A longer timer would end at once (Node's are 32 bits wide): 24 days. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * The driver that a chat server's settings ask for. Throws a `TypeError` that names the chat server where its address is
 * missing or no HTTP address.
 */
export function createDriver(
  server: Pick<ChatServer, 'id'> & { sessionApi: SessionApiSettings },
  surroundings: DriverSurroundings,
): SessionDriver {
  try {
    return make(server.sessionApi, surroundings);
  } catch (error) {
    throw new TypeError(`chat server "${server.id}": ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function make(api: SessionApiSettings, surroundings: DriverSurroundings): SessionDriver {
  const { timeoutMs, log } = surroundings;
  const { token } = api;
  const turnTimeoutMs = Math.min(api.turnTimeoutMs ?? TURN_TIMEOUT_MS, LONGEST_TIMER_MS);
  switch (api.driver) {
    case 'none':
      return createNoneDriver();
    case 'http':
      return createHttpDriver({ url: addressOf(api), token, timeoutMs });
    case 'herdctl':
      return createHerdctlDriver({ url: addressOf(api), token, agent: api.agent, timeoutMs, turnTimeoutMs, log });
    case 'paddock':
      return createPaddockDriver({
        link: surroundings.paddock.to(addressOf(api), token),
        frame: api.frame ?? 'continue',
        timeoutMs,
      });
    case 'exec':
      return createExecDriver({
        send: api.send ?? [],
        status: api.status,
        into: api.into ?? 'resume',
        env: commandEnvironment(surroundings.env, api.passEnv ?? []),
        timeoutMs,
        turnTimeoutMs,
        folder: join(surroundings.dataDir, 'exec'),
        processes: sessionProcesses(join(surroundings.dataDir, SESSION_PROCESSES)),
        log,
      });
  }
}

function addressOf({ driver, url }: SessionApiSettings): string {
  if (url === undefined) throw new TypeError(`the ${driver} session API has no address`);
  return url;
}
