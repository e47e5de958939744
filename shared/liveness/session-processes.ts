import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sessionIdSchema } from '#shared/session/events.js';
import { identify, isProcessId, type ProcessId } from './process-id.ts';

/**
 * Which process drives which session, as far as somebody told: one small file each, `<folder>/<session id>.json`, holding
 * a {@link ProcessId}. Claude Code names its own process to its command hooks (`CLAUDE_PID`).
 *
 * The folder is `session-processes` in `DATA_DIR`. It is only as good as what was written: a session without a file may
 * have a process all the same.
 */
export interface SessionProcesses {
  /** The process that a session was last driven by, alive or not. */
  of(sessionId: string): Promise<ProcessId | undefined>;
  /** Sessions by the process that was told to drive them. */
  all(): Promise<Map<number, string>>;
  /** Takes over what a hook tells. Throws for an id that is no session's. */
  record(sessionId: string, pid: number): Promise<void>;
  forget(sessionId: string): Promise<void>;
}

/** Name of the folder in `DATA_DIR`. */
export const SESSION_PROCESSES = 'session-processes';

export function sessionProcesses(folder: string): SessionProcesses {
  const pathOf = (sessionId: string): string => join(folder, `${sessionIdSchema.parse(sessionId)}.json`);
  return {
    of: (sessionId) => read(pathOf(sessionId)),
    async all() {
      const found = new Map<number, string>();
      for (const name of await names(folder)) {
        const id = await read(join(folder, name));
        if (id !== undefined) found.set(id.pid, name.slice(0, -'.json'.length));
      }
      return found;
    },
    async record(sessionId, pid) {
      const path = pathOf(sessionId);
      await mkdir(folder, { recursive: true });
      const draft = `${path}.${process.pid}.tmp`;
      await writeFile(draft, JSON.stringify(identify(pid)), { mode: 0o600 });
      await rename(draft, path);
    },
    forget: (sessionId) => rm(pathOf(sessionId), { force: true }),
  };
}

async function names(folder: string): Promise<string[]> {
  try {
    return (await readdir(folder)).filter((name) => name.endsWith('.json'));
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function read(path: string): Promise<ProcessId | undefined> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'));
    return isProcessId(value) ? value : undefined;
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const isMissing = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ENOENT';
