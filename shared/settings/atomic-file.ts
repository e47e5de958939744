import { randomUUID } from 'node:crypto';
import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Mode and owner that the new file takes over. */
export interface FileIdentity {
  mode: number;
  uid: number;
  gid: number;
}

/**
 * Replaces a file in one step: whoever reads, and whatever crashes, sees the old text or the new one, never a part. The new
 * text goes to a temporary file in the same folder, is forced to disk, and is renamed over the old. `before` is the identity of
 * the file that is replaced; `stillValid` is asked right before the rename, and `false` gives up (answer `false`, old file
 * untouched). Throws what the file system throws; the temporary file is removed then.
 */
export async function replaceFile(
  path: string,
  text: string,
  before: FileIdentity | undefined,
  stillValid: () => Promise<boolean>,
): Promise<boolean> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}.tmp`);
  try {
    await writeDurably(temporary, text, before);
    if (!(await stillValid())) {
      await rm(temporary, { force: true });
      return false;
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
  return true;
}

async function writeDurably(path: string, text: string, like: FileIdentity | undefined): Promise<void> {
  const file = await open(path, 'wx', (like?.mode ?? 0o644) & 0o777);
  try {
    await file.writeFile(text);
    if (like !== undefined) {
      await file.chmod(like.mode & 0o7777);
      await keepOwner(file, like);
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A service that runs as root must not take a user's file away from them. */
async function keepOwner(file: FileHandle, like: FileIdentity): Promise<void> {
  if (like.uid === process.getuid?.() && like.gid === process.getgid?.()) return;
  try {
    await file.chown(like.uid, like.gid);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) throw error;
    // Only root may give files away; the file is then ours, with the mode of the old one.
  }
}

/** Without this a power cut could undo the rename. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
