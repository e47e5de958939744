import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { refused } from '../refusals.ts';

/** Path of a program as the system would find it; a refusal (`ENOENT`) where it is nowhere. */
export async function findProgram(name: string, path = ''): Promise<string> {
  const places = name.includes('/') ? [name] : path.split(':').map((folder) => join(folder, name));
  for (const place of places) {
    const found = await access(place, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return place;
  }
  throw refused('ENOENT', `the program ${name} is not there, or may not be run`);
}
