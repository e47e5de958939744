import type { ChatServer } from '#shared/settings/environment.js';
import type { SessionDriver } from './driver.ts';
import { createHttpDriver } from './http-driver.ts';
import { createNoneDriver } from './none-driver.ts';

/**
 * The driver that a chat server's settings ask for. Throws a `TypeError` that names the chat server where its address is
 * missing or no HTTP address.
 */
export function createDriver(server: Pick<ChatServer, 'id' | 'sessionApi'>, timeoutMs: number): SessionDriver {
  const { driver, url, token } = server.sessionApi;
  if (driver === 'none') return createNoneDriver();
  if (url === undefined) throw new TypeError(`chat server "${server.id}": the ${driver} session API has no address`);
  return named(server.id, () => createHttpDriver({ url, token, timeoutMs }));
}

function named(id: string, make: () => SessionDriver): SessionDriver {
  try {
    return make();
  } catch (error) {
    throw new TypeError(`chat server "${id}": ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}
