import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { identify, isAlive, isProcessId, type ProcessId } from '#shared/liveness/process-id.js';

/**
 * Single flight per session among all processes of this machine: one small file that names the process at work.
 *
 * A file and not a key in Redis, because what must not meet are processes of one machine, and because its holder may be a
 * command that outlives the worker: its life is asked of the system, so nothing expires too early and nothing stays for ever.
 */
export interface SessionLock {
  /** The command that was started works on the session now; the lock is its own from here on. */
  handTo(pid: number): Promise<void>;
  release(): Promise<void>;
}

/** The lock, or the process that has it. */
export async function lockSession(folder: string, sessionId: string): Promise<SessionLock | { heldBy: number }> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, `${sessionId}.lock`);
  const draft = `${path}.${process.pid}.${randomUUID()}`;
  await writeFile(draft, JSON.stringify(identify(process.pid)), { mode: 0o600 });
  try {
    while (!(await create(draft, path))) {
      const holder = await read(path);
      if (holder !== undefined && isAlive(holder)) return { heldBy: holder.pid };
      await removeDead(path, holder);
    }
  } finally {
    await rm(draft, { force: true });
  }
  return {
    async handTo(pid) {
      await writeFile(draft, JSON.stringify(identify(pid)), { mode: 0o600 });
      await rename(draft, path);
    },
    release: () => rm(path, { force: true }),
  };
}

/** The process that works on the session, if one does. */
export async function lockHolder(folder: string, sessionId: string): Promise<number | undefined> {
  const holder = await read(join(folder, `${sessionId}.lock`));
  return holder !== undefined && isAlive(holder) ? holder.pid : undefined;
}

/** A hard link is made whole or not at all, and only where nobody else's lock is. */
async function create(draft: string, path: string): Promise<boolean> {
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw error;
  }
}

/** Two may find the same dead lock: only one moves it away, and it looks whether that is what it moved. */
async function removeDead(path: string, dead: ProcessId | undefined): Promise<void> {
  const aside = `${path}.dead.${process.pid}.${randomUUID()}`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  const moved = await read(aside);
  if (moved !== undefined && moved.pid !== dead?.pid && isAlive(moved)) await create(aside, path);
  await rm(aside, { force: true });
}

async function read(path: string): Promise<ProcessId | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return isProcessId(value) ? value : undefined;
  } catch (error) {
    if (hasCode(error, 'ENOENT') || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
