import type { Dirent } from 'node:fs';
import { lstat, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path';
import type { FileMark } from './finding.ts';
import { quickLstat } from './local-disk.ts';

/** A transcript root: as the sender names it, and where this process finds it (containers map one to the other). */
export interface TranscriptRoot {
  theirs: string;
  ours: string;
}

/** Why a path is not read. */
export type Refusal = 'not-absolute' | 'odd-path' | 'sub-agent' | 'outside-roots' | 'unresolvable';
/** `mark`: the file as it was found; none where there is no file (yet). */
export type Confined = { path: string; mark?: FileMark } | { refused: Refusal };

/** Greatest number of links to links that are followed, as the system itself counts. */
const MAX_LINKS = 40;

/**
 * The path as this process may open it: mapped from the sender's roots, symbolic links followed, and under one of the
 * roots; else `undefined`, and nothing was read. The file need not exist yet: its nearest existing parent decides.
 */
export const confine = async (theirs: string, roots: readonly TranscriptRoot[]): Promise<string | undefined> => {
  const result = await confineOrRefuse(theirs, roots);
  return 'path' in result ? result.path : undefined;
};

/**
 * {@link confine}, with the reason of a refusal.
 * @param known whether the caller knows what is at this path, so that the system need not be asked
 */
export const confineOrRefuse = async (
  theirs: string,
  roots: readonly TranscriptRoot[],
  known: (path: string) => boolean = () => false,
): Promise<Confined> => {
  if (!isAbsolute(theirs)) return { refused: 'not-absolute' };
  if (theirs.includes('\0') || theirs.split(sep).includes('..')) return { refused: 'odd-path' };
  const file = await resolveFile(mapped(resolve(theirs), roots), known);
  if (file === undefined) return { refused: 'unresolvable' };
  if (!(await isUnderAny(file.path, roots))) return { refused: 'outside-roots' };
  return isSubAgentFile(file.path) ? { refused: 'sub-agent' } : file;
};

/** Files of sub-agents lie beside the chats, or in a folder of their own; they are never judged as chats (SPEC §5). */
export const isSubAgentFile = (path: string): boolean =>
  path.split(sep).includes('subagents') || basename(path).startsWith('agent-');

/** Where Claude Code puts the file of a session that runs in `cwd` (SPEC §6). */
export const defaultPath = (claudeHome: string, cwd: string, sessionId: string): string =>
  join(claudeHome, 'projects', cwd.replaceAll(/[^A-Za-z0-9]/g, '-'), `${sessionId}.jsonl`);

/** The most specific of the sender's roots that holds the path says where it is here. */
const mapped = (path: string, roots: readonly TranscriptRoot[]): string => {
  const root = resolvedRoots(roots).find(({ theirs }) => isUnder(path, theirs));
  return root === undefined || root.theirs === root.ours ? path : join(root.ours, path.slice(root.theirs.length));
};

/** Both sides resolved, the most specific first. The settings' own array is the key: it lives as long as the process. */
const resolvedRoots = (roots: readonly TranscriptRoot[]): readonly TranscriptRoot[] => {
  const known = resolved.get(roots);
  if (known !== undefined) return known;
  const made = roots
    .map(({ theirs, ours }) => ({ theirs: resolve(theirs), ours: resolve(ours) }))
    .toSorted((a, b) => b.theirs.length - a.theirs.length);
  resolved.set(roots, made);
  return made;
};
const resolved = new WeakMap<readonly TranscriptRoot[], readonly TranscriptRoot[]>();

const isUnder = (path: string, root: string): boolean =>
  path.startsWith(root) && (path.length === root.length || path[root.length] === sep || root.endsWith(sep));

const isUnderAny = async (path: string, roots: readonly TranscriptRoot[]): Promise<boolean> => {
  for (const { ours } of resolvedRoots(roots)) {
    const root = await realFolder(ours);
    if (root !== undefined && isUnder(path, root)) return true;
  }
  return false;
};

/** Roots, and folders of many chats: each delivery and each file of a search asks for them. Their links are followed once a second. */
const FOLDER_FOR_MS = 1_000;
const MOST_FOLDERS = 1_000;
const realFolders = new Map<string, { real: string; untilMs: number }>();

const realFolder = async (folder: string): Promise<string | undefined> => {
  const known = realFolders.get(folder);
  if (known !== undefined && performance.now() < known.untilMs) return known.real;
  const real = await resolveLinks(folder);
  if (realFolders.size >= MOST_FOLDERS) realFolders.clear();
  if (real === undefined) realFolders.delete(folder);
  else realFolders.set(folder, { real, untilMs: performance.now() + FOLDER_FOR_MS });
  return real;
};

/** {@link resolveLinks} for a file, in one call to the system where its folder is known and it is no link itself. */
const resolveFile = async (
  path: string,
  known: (path: string) => boolean,
): Promise<{ path: string; mark?: FileMark } | undefined> => {
  const folder = await realFolder(dirname(path));
  if (folder === undefined) return undefined;
  const direct = join(folder, basename(path));
  if (known(direct)) return { path: direct };
  try {
    const found = await quickLstat(direct);
    if (found.isSymbolicLink()) return onlyPath(await resolveLinks(direct));
    const { size, mtimeMs, ino } = found;
    return { path: direct, mark: { size, mtimeMs, ino } };
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? { path: direct } : unresolvable(error);
  }
};

const onlyPath = (path: string | undefined): { path: string } | undefined =>
  path === undefined ? undefined : { path };

/**
 * The path with every link followed, links to what does not exist yet included; `undefined` where it cannot be told
 * (a loop, a file in the place of a directory, no permission).
 */
const resolveLinks = async (path: string, depth = 0): Promise<string | undefined> => {
  if (depth > MAX_LINKS) return undefined;
  try {
    return await realpath(path);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') return unresolvable(error);
  }
  const target = await linkTarget(path);
  if (target !== undefined) return resolveLinks(target, depth + 1);
  const parent = dirname(path);
  if (parent === path) return path;
  const real = await resolveLinks(parent, depth);
  return real === undefined ? undefined : join(real, basename(path));
};

const linkTarget = async (path: string): Promise<string | undefined> => {
  try {
    const found = await lstat(path);
    return found.isSymbolicLink() ? resolve(dirname(path), await readlink(path)) : undefined;
  } catch (error) {
    return unresolvable(error);
  }
};

/** A system error means that the path leads nowhere we may go; anything else is ours to see. */
const unresolvable = (error: unknown): undefined => {
  if (codeOf(error) === undefined) throw error;
  return undefined;
};

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** A session id is a UUID; nothing else is ever looked for as a file name. */
export const SESSION_ID_PATTERN = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** Bounds of a search: deep enough for `projects/<slug>/`, and for a project's own folder below a root. */
const MAX_DEPTH = 4;
const MAX_DIRECTORIES = 20_000;
const SKIPPED: ReadonlySet<string> = new Set(['subagents', 'node_modules', '.git']);

/**
 * Looks a session's file up again under the roots: its real path, the newest of several; `undefined` where there is none.
 * Bounded in depth and in directories, and only by name: no file is opened.
 */
export const locate = async (sessionId: string, roots: readonly TranscriptRoot[]): Promise<string | undefined> => {
  if (!SESSION_ID_PATTERN.test(sessionId)) return undefined;
  const found: { path: string; mtimeMs: number }[] = [];
  const seen = new Set<string>();
  let level = roots.map(({ ours }) => resolve(ours));
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const directory of level) {
      const real = await resolveLinks(directory);
      if (real === undefined || seen.has(real) || seen.size >= MAX_DIRECTORIES) continue;
      seen.add(real);
      found.push(...(await chatIn(real, sessionId, roots)));
      next.push(...(await directoriesIn(real)));
    }
    // The shallowest level that holds the chat wins: no need to walk everything below.
    if (found.length > 0) break;
    level = next;
  }
  return found.toSorted((a, b) => b.mtimeMs - a.mtimeMs)[0]?.path;
};

const chatIn = async (
  directory: string,
  sessionId: string,
  roots: readonly TranscriptRoot[],
): Promise<{ path: string; mtimeMs: number }[]> => {
  const path = await resolveLinks(join(directory, `${sessionId}.jsonl`));
  if (path === undefined || !(await isUnderAny(path, roots))) return [];
  try {
    const { mtimeMs } = await stat(path);
    return [{ path, mtimeMs }];
  } catch (error) {
    unresolvable(error);
    return [];
  }
};

const directoriesIn = async (directory: string): Promise<string[]> => {
  const entries = await entriesOf(directory);
  return entries
    .filter((entry) => (entry.isDirectory() || entry.isSymbolicLink()) && !SKIPPED.has(entry.name))
    .map((entry) => join(directory, entry.name));
};

const entriesOf = async (directory: string): Promise<Dirent[]> => {
  try {
    return await readdir(directory, { withFileTypes: true });
  } catch (error) {
    unresolvable(error);
    return [];
  }
};
