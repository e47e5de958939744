import { resolve } from 'node:path';

/** What paths in settings are relative to. */
export interface Places {
  /** The user's home, for `~`. */
  home: string;
  /** Folder that relative paths start from. */
  cwd: string;
}

/** An absolute path, `~` and `~/…` taken as the home. */
export function absolute(path: string, places: Places): string {
  const expanded = path === '~' || path.startsWith('~/') ? places.home + path.slice(1) : path;
  return resolve(places.cwd, expanded);
}
