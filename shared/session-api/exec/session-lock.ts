import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { identify, isAlive, isProcessId, type ProcessId } from '#shared/liveness/process-id.js';

/**
 * Single flight per session among all processes of this machine: one small file to which everybody who wants the session
 * appends a line. The first line whose process lives and has not let go holds it.
 *
 * A file and not a key in Redis, because what must not meet are processes of one machine, and because its holder may be a
 * command that outlives the worker: its life is asked of the system, so nothing expires too early and nothing stays for ever.
 * Lines are only ever appended (short ones, so each is whole), never moved or removed: all see them in the same order, and no
 * two can both find themselves first. A lock file that a late comer moves aside could not promise that.
 */
export interface SessionLock {
  /** The command that was started works on the session now; the lock is its own from here on. */
  handTo(pid: number): Promise<void>;
  release(): Promise<void>;
}

/** The lock, or the process that has it. */
export async function lockSession(folder: string, sessionId: string): Promise<SessionLock | { heldBy: number }> {
  await mkdir(folder, { recursive: true });
  const path = lockPath(folder, sessionId);
  const token = randomUUID();
  const say = (line: Omit<Line, 'token'>) => append(path, { token, ...line });
  const release = () => say({ released: true });
  await say({ process: identify(process.pid) });
  const holder = await holderOf(path);
  if (holder === undefined) throw new Error(`the lock ${path} cannot be read back`);
  if (holder.token !== token) {
    await release();
    return { heldBy: holder.process.pid };
  }
  return { handTo: (pid) => say({ process: identify(pid) }), release };
}

/** The process that works on the session, if one does. */
export async function lockHolder(folder: string, sessionId: string): Promise<number | undefined> {
  return (await holderOf(lockPath(folder, sessionId)))?.process.pid;
}

interface Line {
  /** One for each wish to have the session; later lines with it change its process or let go. */
  token: string;
  process?: ProcessId;
  released?: boolean;
}

const lockPath = (folder: string, sessionId: string): string => join(folder, `${sessionId}.lock`);

/** A line of its own even behind one that a dying process left torn. */
async function append(path: string, line: Line): Promise<void> {
  await appendFile(path, `\n${JSON.stringify(line)}\n`, { mode: 0o600 });
}

async function holderOf(path: string): Promise<{ token: string; process: ProcessId } | undefined> {
  const wishes = new Map<string, ProcessId | undefined>();
  for (const { token, process, released } of await linesOf(path)) wishes.set(token, released ? undefined : process);
  for (const [token, process] of wishes) {
    if (process !== undefined && isAlive(process)) return { token, process };
  }
  return undefined;
}

async function linesOf(path: string): Promise<Line[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
  return text.split('\n').flatMap(parse);
}

function parse(text: string): Line[] {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || !('token' in value) || typeof value.token !== 'string')
      return [];
    const { token } = value;
    if ('released' in value && value.released === true) return [{ token, released: true }];
    return 'process' in value && isProcessId(value.process) ? [{ token, process: value.process }] : [];
  } catch {
    return []; // Torn, or the blank between two lines.
  }
}
