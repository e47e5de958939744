import { lstatSync, type Stats } from 'node:fs';
import { lstat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * File systems on disks and in the memory of this machine, by the number that Linux gives them (statfs(2)). What may have to
 * wait for a network or another process (NFS, SMB, FUSE, 9p), and whatever else there is, is none of them.
 */
const LOCAL: ReadonlySet<number> = new Set([
  0xef_53, // ext2, ext3, ext4
  0x58_46_53_42, // XFS
  0x91_23_68_3e, // Btrfs
  0xf2_f5_20_10, // F2FS
  0x2f_c1_2f_c1, // ZFS
  0x01_02_19_94, // tmpfs
  0x79_4c_76_30, // overlay
]);

/** Something may be mounted there meanwhile. */
const KNOWN_FOR_MS = 60_000;
const MOST_FOLDERS = 10_000;
const folders = new Map<string, { isLocal: boolean; untilMs: number }>();

/**
 * Whether this folder is on a local disk, as far as is known: what is not known yet counts as not, and is asked for, so that
 * nobody has to wait for the answer.
 */
export function isOnLocalDisk(folder: string): boolean {
  const known = folders.get(folder);
  if (known !== undefined && performance.now() < known.untilMs) return known.isLocal;
  if (folders.size >= MOST_FOLDERS) folders.clear();
  // Not asked for again while the answer is on its way; a mount that hangs stays what it is.
  folders.set(folder, { isLocal: false, untilMs: performance.now() + KNOWN_FOR_MS });
  statfs(folder).then(
    ({ type }) => folders.set(folder, { isLocal: LOCAL.has(type), untilMs: performance.now() + KNOWN_FOR_MS }),
    // Gone or not to be had: whoever opens the file is told.
    () => folders.delete(folder),
  );
  return false;
}

/**
 * `lstat` without the thread pool where the file is on a local disk, where that trip costs five times the call itself.
 * Throws the system's error as that does.
 */
export async function quickLstat(path: string): Promise<Stats> {
  return isOnLocalDisk(dirname(path)) ? lstatSync(path) : lstat(path);
}
