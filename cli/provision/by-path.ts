import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import type { Way } from './found.ts';

const PROGRAMS = ['redis-server', 'valkey-server'];
/** Where packages put servers, for shells whose PATH leaves it out. */
const ALSO_IN = ['/usr/bin', '/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'];

/** A `redis-server` or `valkey-server` on PATH, or where packages put them. */
export const byPath: Way = byPathAnd(ALSO_IN);

/** The same with other folders beside PATH. */
export function byPathAnd(alsoIn: readonly string[]): Way {
  return {
    advice: 'install redis-server or valkey-server',
    async find({ env }) {
      const onPath = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
      for (const program of PROGRAMS) {
        for (const folder of [...onPath, ...alsoIn]) {
          const path = join(folder, program);
          if (await executable(path)) return { kind: 'program', path, libraryPath: undefined };
        }
      }
      return 'neither redis-server nor valkey-server is on PATH';
    },
  };
}

async function executable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
