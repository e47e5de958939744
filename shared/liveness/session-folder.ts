import { open } from 'node:fs/promises';

/** Every entry of a turn names the folder, so the newest part of the file is enough. */
const TAIL_BYTES = 256 * 1024;

/** The folder that a session runs in, as its transcript says; `undefined` where there is no such file or entry. */
export async function sessionFolder(transcriptPath: string): Promise<string | undefined> {
  try {
    const file = await open(transcriptPath, 'r');
    try {
      const { size } = await file.stat();
      const length = Math.min(size, TAIL_BYTES);
      const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
      return newestFolder(buffer.subarray(0, bytesRead).toString('utf8'));
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined;
    throw error;
  }
}

function newestFolder(text: string): string | undefined {
  for (const line of text.split('\n').toReversed()) {
    if (!line.includes('"cwd"')) continue;
    const folder = folderIn(line);
    if (folder !== undefined) return folder;
  }
  return undefined;
}

function folderIn(line: string): string | undefined {
  try {
    const entry: unknown = JSON.parse(line);
    const cwd = typeof entry === 'object' && entry !== null && 'cwd' in entry ? entry.cwd : undefined;
    return typeof cwd === 'string' && cwd.startsWith('/') ? cwd : undefined;
  } catch {
    return undefined;
  }
}
