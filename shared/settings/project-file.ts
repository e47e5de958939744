import type { BigIntStats } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { projectSlugSchema } from '#shared/session/events.js';
import type { FileIdentity } from './atomic-file.ts';
import { MAX_YAML_BYTES } from './yaml-text.ts';

/** The file in a project's folder that may hold a `recovery:` block. */
export const PROJECT_FILE = 'project.yaml';

/** Where a project's file is, links followed. */
export type ProjectPlace =
  /** `path` is the real file, or where it would be created. */
  | { kind: 'found'; path: string }
  /** There is no such folder. */
  | { kind: 'unknown' }
  /** A link leads out of the projects' folder, or the slug is none. */
  | { kind: 'refused'; why: string };

export interface FileRead {
  text: string;
  mark: string;
  mtimeMs: number;
  identity: FileIdentity;
}

/** Path of the project's file as configured, before links are followed. `''` is the root workspace. */
export function projectPath(projectsDir: string, slug: string): string {
  return join(projectsDir, slug, PROJECT_FILE);
}

/** Finds a project's file, confined to `projectsDir`: neither a slug nor a symbolic link leads out of it. */
export async function locateProject(projectsDir: string, slug: string): Promise<ProjectPlace> {
  if (!projectSlugSchema.safeParse(slug).success) return { kind: 'refused', why: 'is no project slug' };
  const root = await realOr(projectsDir);
  const folder = await realOr(join(projectsDir, slug));
  if (root === undefined || folder === undefined) return { kind: 'unknown' };
  if (!isInside(root, folder)) return { kind: 'refused', why: 'is a link that leaves the projects’ folder' };
  if (!(await stat(folder)).isDirectory()) return { kind: 'unknown' };
  const path = join(folder, PROJECT_FILE);
  const real = await realOr(path);
  if (real !== undefined && !isInside(root, real)) {
    return { kind: 'refused', why: `has a ${PROJECT_FILE} that is a link out of the projects’ folder` };
  }
  return { kind: 'found', path: real ?? path };
}

/** Enough to tell whether a file is the same and unchanged, from one `stat`; `undefined`: there is none. */
export async function markOf(path: string): Promise<string | undefined> {
  try {
    return markFrom(await stat(path, { bigint: true }));
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** The same for a folder: only which one it is, since what is in it changes all the time. */
export async function folderMark(path: string): Promise<string | undefined> {
  try {
    return String((await stat(path, { bigint: true })).ino);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/**
 * Reads a project's file; `undefined` where there is none. Throws where it is no regular file of a sensible size in UTF-8.
 * The mark is from before the read: a change during it makes the mark differ from the next one.
 */
export async function readProjectFile(path: string): Promise<FileRead | undefined> {
  try {
    const stats = await stat(path, { bigint: true });
    if (!stats.isFile()) throw new Error('it is not a regular file');
    if (stats.size > MAX_YAML_BYTES) throw new Error(`it is larger than ${MAX_YAML_BYTES} bytes`);
    const text = decode(await readFile(path));
    const identity = { mode: Number(stats.mode), uid: Number(stats.uid), gid: Number(stats.gid) };
    return { text, mark: markFrom(stats), mtimeMs: Number(stats.mtimeMs), identity };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function markFrom({ ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [ino, size, mtimeNs, ctimeNs].join(':');
}

/** A replaced byte would be written back as something else. A byte-order mark stays in the text. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    throw new Error('it is not UTF-8 text', { cause: error });
  }
}

async function realOr(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/** Not there, or a part of the path is no folder. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
