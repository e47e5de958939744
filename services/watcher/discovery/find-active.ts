import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { FileMark } from '#shared/transcript/finding.js';
import { SESSION_ID_PATTERN } from '#shared/transcript/locate.js';

/** A chat's file that was written lately. */
export interface ActiveChat {
  sessionId: string;
  path: string;
  mark: FileMark;
}

export interface FindBounds {
  /** Files that were last written before this are left alone, epoch milliseconds. */
  sinceMs: number;
  maxDirectories: number;
  maxFiles: number;
}

/** `projects/<project>/` is one; a project's own folder below a root one or two more. */
const MAX_DEPTH = 4;
const SKIPPED: ReadonlySet<string> = new Set(['subagents', 'node_modules', '.git']);
const TOGETHER = 32;

/**
 * Chats under the roots by their names alone (`<session id>.jsonl`; sub-agents' files are named otherwise, or lie in folders of
 * their own): no file is opened. Linked folders are followed, each once. What cannot be read is passed over.
 * `complete: false`: there were more folders or files than the bounds allow.
 */
export async function findActive(
  roots: readonly string[],
  bounds: FindBounds,
): Promise<{ chats: ActiveChat[]; complete: boolean }> {
  const chats = new Map<string, ActiveChat>();
  const seen = new Set<string>();
  let level = [...roots];
  let files = 0;
  let complete = true;
  for (let depth = 0; depth <= MAX_DEPTH && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const directory of level) {
      const real = await realpath(directory).catch(() => undefined);
      if (real === undefined || seen.has(real)) continue;
      if (seen.size >= bounds.maxDirectories || files >= bounds.maxFiles)
        return { chats: [...chats.values()], complete: false };
      seen.add(real);
      const entries = await entriesOf(real);
      next.push(...entries.filter(mayBeFolder).map(({ name }) => join(real, name)));
      const named = entries.filter(isChat).map(({ name }) => join(real, name));
      const room = bounds.maxFiles - files;
      complete &&= named.length <= room;
      files += named.length;
      for (const chat of await active(named.slice(0, room), bounds.sinceMs)) keepNewest(chats, chat);
    }
    level = next;
  }
  return { chats: [...chats.values()], complete };
}

async function active(paths: readonly string[], sinceMs: number): Promise<ActiveChat[]> {
  const found: ActiveChat[] = [];
  for (let at = 0; at < paths.length; at += TOGETHER) {
    const some = await Promise.all(paths.slice(at, at + TOGETHER).map((path) => chatAt(path)));
    found.push(
      ...some.filter((chat) => chat !== undefined && chat.mark.mtimeMs >= sinceMs).filter((chat) => chat !== undefined),
    );
  }
  return found;
}

async function chatAt(path: string): Promise<ActiveChat | undefined> {
  try {
    const { size, mtimeMs, ino } = await stat(path);
    return { sessionId: basename(path, '.jsonl').toLowerCase(), path, mark: { size, mtimeMs, ino } };
  } catch {
    // Gone, or not to be had: no chat of ours.
    return undefined;
  }
}

/** One session may have files in two folders; the one that is written is its own. */
function keepNewest(chats: Map<string, ActiveChat>, chat: ActiveChat): void {
  const known = chats.get(chat.sessionId);
  if (known === undefined || known.mark.mtimeMs < chat.mark.mtimeMs) chats.set(chat.sessionId, chat);
}

const isChat = (entry: Dirent): boolean =>
  entry.isFile() && entry.name.endsWith('.jsonl') && SESSION_ID_PATTERN.test(entry.name.slice(0, -'.jsonl'.length));

const mayBeFolder = (entry: Dirent): boolean =>
  (entry.isDirectory() || entry.isSymbolicLink()) && !SKIPPED.has(entry.name) && !SESSION_ID_PATTERN.test(entry.name);

// No right to read it, or gone meanwhile.
const entriesOf = (directory: string): Promise<Dirent[]> =>
  readdir(directory, { withFileTypes: true }).catch((): Dirent[] => []);
