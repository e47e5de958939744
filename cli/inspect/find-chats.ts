import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { isSubAgentFile } from '#shared/transcript/locate.js';

/** A chat's file below a scanned directory. */
export interface ChatFile {
  path: string;
  /** Its folder below the scanned directory: Claude Code's name for the project. */
  project: string;
  mtimeMs: number;
}

/** Folders that hold no chats, or files that are not judged as chats. */
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', '.git', 'subagents']);

/**
 * Every chat below a directory, sub-agents' files left out. Linked folders are followed (a project's folder is often a link
 * into the project itself), each once. What cannot be read is told to `onTrouble` and passed over.
 */
export async function* findChats(
  root: string,
  onTrouble: (path: string, error: Error) => void,
): AsyncGenerator<ChatFile> {
  const seen = new Set<string>();
  const waiting = [root];
  for (let directory = waiting.shift(); directory !== undefined; directory = waiting.shift()) {
    const entries = await entriesOf(directory, seen, onTrouble);
    for (const entry of entries) {
      const path = join(directory, entry.name);
      const kind = await kindOf(entry, path, onTrouble);
      if (kind === 'directory' && !SKIPPED.has(entry.name)) waiting.push(path);
      if (kind !== 'file' || !entry.name.endsWith('.jsonl') || isSubAgentFile(relative(root, path))) continue;
      const mtimeMs = await mtimeOf(path, onTrouble);
      if (mtimeMs !== undefined) yield { path, project: relative(root, directory) || '.', mtimeMs };
    }
  }
}

const entriesOf = async (
  directory: string,
  seen: Set<string>,
  onTrouble: (path: string, error: Error) => void,
): Promise<Dirent[]> => {
  try {
    const real = await realpath(directory);
    if (seen.has(real)) return [];
    seen.add(real);
    return await readdir(real, { withFileTypes: true });
  } catch (error) {
    onTrouble(directory, asError(error));
    return [];
  }
};

const kindOf = async (
  entry: Dirent,
  path: string,
  onTrouble: (path: string, error: Error) => void,
): Promise<'file' | 'directory' | 'other'> => {
  if (entry.isFile()) return 'file';
  if (entry.isDirectory()) return 'directory';
  if (!entry.isSymbolicLink()) return 'other';
  try {
    const target = await stat(path);
    return target.isDirectory() ? 'directory' : target.isFile() ? 'file' : 'other';
  } catch (error) {
    onTrouble(path, asError(error));
    return 'other';
  }
};

const mtimeOf = async (path: string, onTrouble: (path: string, error: Error) => void): Promise<number | undefined> => {
  try {
    return (await stat(path)).mtimeMs;
  } catch (error) {
    onTrouble(path, asError(error));
    return undefined;
  }
};

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
