import { createReadStream } from 'node:fs';

const NEWLINE = 0x0a;

/** The 1-based line number of each offset, in one pass over the file up to the last of them. */
export const lineNumbers = async (file: string, offsets: readonly number[]): Promise<Map<number, number>> => {
  const wanted = [...new Set(offsets)].toSorted((a, b) => a - b);
  const found = new Map<number, number>();
  const last = wanted.at(-1);
  if (last === undefined) return found;
  let line = 1;
  let position = 0;
  for await (const chunk of createReadStream(file, { end: last, highWaterMark: 1_024 * 1_024 })) {
    const bytes: Buffer = Buffer.from(chunk);
    let from = 0;
    while (wanted[0] !== undefined && wanted[0] < position + bytes.length) {
      const offset = wanted.shift() ?? 0;
      line += countNewlines(bytes, from, offset - position);
      from = offset - position;
      found.set(offset, line);
    }
    line += countNewlines(bytes, from, bytes.length);
    position += bytes.length;
  }
  return found;
};

const countNewlines = (bytes: Buffer, from: number, to: number): number => {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE, from); at !== -1 && at < to; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
};
