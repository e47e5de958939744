import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { FileMark, TranscriptSource, TranscriptView } from './finding.ts';

/** Codes with which the system says that there is nothing at a path. */
const NOTHING_THERE: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'ESTALE']);

/** Transcripts on this machine's disk, opened for reading alone. */
export const localFiles: TranscriptSource = {
  async open(path) {
    try {
      // A pipe in a transcript's place must not hold the reader up.
      const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      return await viewOf(file);
    } catch (error) {
      const code = codeOf(error);
      if (code === undefined) throw error;
      return NOTHING_THERE.has(code) ? { missing: true } : { unreadable: code };
    }
  },
};

const viewOf = async (file: FileHandle): Promise<TranscriptView | { unreadable: string }> => {
  try {
    const stat = await file.stat();
    if (!stat.isFile()) {
      await file.close();
      return { unreadable: stat.isDirectory() ? 'EISDIR' : 'ENOTFILE' };
    }
    return fileView(file, { size: stat.size, mtimeMs: stat.mtimeMs, ino: stat.ino });
  } catch (error) {
    await file.close();
    throw error;
  }
};

const fileView = (file: FileHandle, mark: FileMark): TranscriptView => ({
  mark,
  async readAt(offset, length) {
    const buffer = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      const { bytesRead } = await file.read(buffer, filled, length - filled, offset + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return buffer.subarray(0, filled);
  },
  async isIntact() {
    return (await file.stat()).size >= mark.size;
  },
  close: () => file.close(),
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
