import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { identify, isAlive, type ProcessId } from '#shared/liveness/process-id.js';
import { endProcess } from './end-process.ts';

const LOCK_FILE = 'chat-recovery.lock';
const SURVIVOR_ENDS_WITHIN_MS = 5_000;

/** A data folder that belongs to this process until `release`. */
export interface Lock {
  /** Remembers which processes work on the folder for us: should we be killed, our successor ends them first. */
  children(pids: readonly number[]): void;
  /** Gives the folder back. Idempotent. */
  release(): void;
}

interface LockContent {
  owner: ProcessId;
  children: ProcessId[];
}

/**
 * Takes a data folder. A live owner is refused by name; a dead one's lock is replaced, after what it left running on
 * the folder (two servers on one append-only file destroy it) was ended.
 */
export async function takeLock(dataDir: string): Promise<Lock> {
  mkdirSync(dataDir, { recursive: true });
  const path = join(dataDir, LOCK_FILE);
  const mine: LockContent = { owner: identify(process.pid), children: [] };
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, JSON.stringify(mine));
  try {
    while (!create(draft, path)) await replaceDead(path, dataDir);
  } finally {
    rmSync(draft, { force: true });
  }
  return {
    children(pids) {
      writeFileSync(draft, JSON.stringify({ ...mine, children: pids.map((pid) => identify(pid)) }));
      renameSync(draft, path);
    },
    release() {
      if (read(path)?.owner.pid === process.pid) rmSync(path, { force: true });
    },
  };
}

/** A hard link is made whole or not at all, and only where nobody else's lock is. */
function create(draft: string, path: string): boolean {
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

async function replaceDead(path: string, dataDir: string): Promise<void> {
  const found = read(path);
  if (found !== undefined && isAlive(found.owner)) throw inUse(dataDir, found.owner);
  for (const child of found?.children ?? []) await endProcess(child, SURVIVOR_ENDS_WITHIN_MS);
  // Two successors may meet here: only one moves the dead lock away, and it looks whether that is what it moved.
  const aside = `${path}.dead-${process.pid}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return;
    throw error;
  }
  const moved = read(aside);
  if (moved !== undefined && isAlive(moved.owner)) {
    create(aside, path);
    rmSync(aside, { force: true });
    throw inUse(dataDir, moved.owner);
  }
  rmSync(aside, { force: true });
}

function inUse(dataDir: string, owner: ProcessId): Error {
  return new Error(
    `${dataDir} is in use by chat-recovery start, process ${owner.pid}. Stop it, or set DATA_DIR to another folder.`,
  );
}

/** `undefined` for a lock that is gone or that nobody can read (cut off in a crash): it protects nothing. */
function read(path: string): LockContent | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isContent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isContent(value: unknown): value is LockContent {
  if (typeof value !== 'object' || value === null || !('owner' in value) || !('children' in value)) return false;
  return isProcessId(value.owner) && Array.isArray(value.children) && value.children.every(isProcessId);
}

function isProcessId(value: unknown): value is ProcessId {
  return typeof value === 'object' && value !== null && 'pid' in value && Number.isInteger(value.pid);
}
