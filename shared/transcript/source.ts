import { closeSync, constants, fstatSync, open, openSync, read, readSync, type Stats } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { FileMark, TranscriptSource, TranscriptView } from './finding.ts';
import { isOnLocalDisk } from './local-disk.ts';

/**
 * Plain descriptors: a `FileHandle` costs twice as much. And each trip to the thread pool costs five times what the call itself
 * does, so on a local disk a file is opened and its end read without one; what may have to wait for a network is asynchronous,
 * and so is all that is read after the first block, however long the file.
 */
const openFile = promisify(open);
// A pipe in a transcript's place must not hold the reader up.
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Codes with which the system says that there is nothing at a path. */
const NOTHING_THERE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ESTALE']);
const NO_FILE_THERE: ReadonlySet<string> = new Set([...NOTHING_THERE, 'ELOOP']);

/** Transcripts on this machine's disk, opened for reading alone. Links are followed: for a person who names a file. */
export const localFiles: TranscriptSource = {
  async open(path) {
    try {
      return viewOf(await openFile(path, FLAGS), false);
    } catch (error) {
      return whyNot(error, NOTHING_THERE);
    }
  },
};

/**
 * The same for paths that were confined to the transcript roots when they were told: a file that has been replaced by a link
 * since is not there (SPEC §6), whatever the link leads to.
 */
export const confinedFiles: TranscriptSource = {
  async open(path) {
    const flags = FLAGS | constants.O_NOFOLLOW;
    try {
      const isQuick = isOnLocalDisk(dirname(path));
      return viewOf(isQuick ? openSync(path, flags) : await openFile(path, flags), isQuick);
    } catch (error) {
      return whyNot(error, NO_FILE_THERE);
    }
  },
};

const whyNot = (error: unknown, missing: ReadonlySet<string>): { missing: true } | { unreadable: string } => {
  const code = codeOf(error);
  if (code === undefined) throw error;
  return missing.has(code) ? { missing: true } : { unreadable: code };
};

const viewOf = (descriptor: number, isQuick: boolean): TranscriptView | { unreadable: string } => {
  let stat: Stats;
  try {
    stat = fstatSync(descriptor);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  if (stat.isFile()) return fileView(descriptor, { size: stat.size, mtimeMs: stat.mtimeMs, ino: stat.ino }, isQuick);
  closeSync(descriptor);
  return { unreadable: stat.isDirectory() ? 'EISDIR' : 'ENOTFILE' };
};

const fileView = (descriptor: number, mark: FileMark, isQuick: boolean): TranscriptView => {
  let lent: Buffer | undefined;
  const quickly = (offset: number, length: number): Buffer => {
    lent = lend(length);
    let filled = 0;
    while (filled < length) {
      const bytesRead = readSync(descriptor, lent, filled, length - filled, offset + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return lent.subarray(0, filled);
  };
  return {
    mark,
    async readAt(offset, length) {
      if (isQuick && lent === undefined) return quickly(offset, length);
      const buffer = Buffer.allocUnsafe(length);
      let filled = 0;
      while (filled < length) {
        const bytesRead = await readSome(descriptor, buffer.subarray(filled), offset + filled);
        if (bytesRead === 0) break;
        filled += bytesRead;
      }
      return buffer.subarray(0, filled);
    },
    // Asynchronous by contract: what these throw is a rejection.
    isIntact: async () => fstatSync(descriptor).size >= mark.size,
    async close() {
      // First, so that closing twice throws before a block could be lent twice.
      closeSync(descriptor);
      giveBack(lent);
    },
  };
};

/**
 * Blocks for the ends of files, each in the hands of one open view, so that a reading leaves none to the garbage collector.
 * What was read is not to be kept after the view is closed.
 */
const LENT_BYTES = 16 * 1_024;
const MOST_KEPT = 64;
const blocks: Buffer[] = [];

const lend = (length: number): Buffer =>
  length > LENT_BYTES ? Buffer.allocUnsafe(length) : (blocks.pop() ?? Buffer.allocUnsafeSlow(LENT_BYTES));

const giveBack = (block: Buffer | undefined): void => {
  if (block?.length === LENT_BYTES && blocks.length < MOST_KEPT) blocks.push(block);
};

const readSome = (descriptor: number, into: Buffer, position: number): Promise<number> =>
  new Promise((resolve, reject) => {
    read(descriptor, into, 0, into.length, position, (error, bytesRead) =>
      error === null ? resolve(bytesRead) : reject(error),
    );
  });

const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** Transcripts held in memory, for tests and benches; the twin of the file source. */
export const createMemorySource = (files: ReadonlyMap<string, Buffer>): TranscriptSource => ({
  open(path) {
    const content = files.get(path);
    if (content === undefined) return Promise.resolve({ missing: true });
    return Promise.resolve({
      mark: { size: content.length, mtimeMs: 0, ino: 0 },
      readAt: (offset, length) => Promise.resolve(content.subarray(offset, offset + length)),
      close: () => Promise.resolve(),
    });
  },
});
