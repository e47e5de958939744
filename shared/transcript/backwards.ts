import type { TranscriptView } from './finding.ts';

/** A line as it was found, newest first. `bytes` has no line end; a line over the limit comes as its two ends only. */
export type FoundLine =
  | { kind: 'whole'; offset: number; bytes: Buffer }
  | { kind: 'long'; offset: number; length: number; head: Buffer; tail: Buffer };

export interface BackwardsOptions {
  /** First block, then each further one. */
  firstBlockBytes: number;
  blockBytes: number;
  /** A line longer than this is not held: its ends are kept, the rest is only passed over. */
  maxLineBytes: number;
  /** Bytes after which the read gives up. */
  scanLimitBytes: number;
}

export const BLOCKS: BackwardsOptions = {
  firstBlockBytes: 16 * 1_024,
  blockBytes: 32 * 1_024,
  maxLineBytes: 4 * 1_024 * 1_024,
  scanLimitBytes: 64 * 1_024 * 1_024,
};

/** What each end of a line over the limit keeps. */
const LINE_END_BYTES = 8 * 1_024;
const NEWLINE = 0x0a;

export interface BackwardsResult {
  /** `stopped`: the visitor had enough; `start`: everything was read; `limit`: the scan limit; `short`: the file shrank. */
  end: 'stopped' | 'start' | 'limit' | 'short';
  bytesRead: number;
  blocks: number;
}

/**
 * Reads lines from the end of a view to its start, in blocks, as bytes. What stands behind the last line end is no line
 * yet and is left out. Memory is bounded by a block and {@link BackwardsOptions.maxLineBytes}.
 *
 * @param visit takes each line; `true` ends the read.
 * @param isEnough asked before anything that begins before `offset` is looked at.
 */
export const readBackwards = async (
  view: TranscriptView,
  options: BackwardsOptions,
  visit: (line: FoundLine) => void,
  isEnough: (offset: number) => boolean,
): Promise<BackwardsResult> => {
  const carry = createCarry(options.maxLineBytes);
  let end = view.mark.size;
  let bytesRead = 0;
  let blocks = 0;
  while (end > 0) {
    if (isEnough(end)) return { end: 'stopped', bytesRead, blocks };
    if (bytesRead >= options.scanLimitBytes) return { end: 'limit', bytesRead, blocks };
    const size = Math.min(blocks === 0 ? options.firstBlockBytes : options.blockBytes, end);
    const start = end - size;
    const block = await view.readAt(start, size);
    bytesRead += block.length;
    blocks += 1;
    if (block.length < size) return { end: 'short', bytesRead, blocks };
    if (linesOf(block, start, carry, visit, isEnough)) return { end: 'stopped', bytesRead, blocks };
    end = start;
  }
  if (carry.isLine() && !isEnough(0)) visit(carry.take(0));
  return { end: 'start', bytesRead, blocks };
};

/** Visits the lines that begin in this block, newest first; keeps the rest for the block before. `true`: enough. */
const linesOf = (
  block: Buffer,
  start: number,
  carry: Carry,
  visit: (line: FoundLine) => void,
  isEnough: (offset: number) => boolean,
): boolean => {
  let end = block.length;
  for (;;) {
    const newline = end === 0 ? -1 : block.lastIndexOf(NEWLINE, end - 1);
    if (newline === -1) break;
    const offset = start + newline + 1;
    if (isEnough(offset)) return true;
    if (carry.isLine()) {
      carry.push(block.subarray(newline + 1, end));
      visit(carry.take(offset));
    } else {
      carry.begin();
    }
    end = newline;
  }
  carry.push(block.subarray(0, end));
  return false;
};

/** The pieces of a line whose beginning is not reached yet. */
interface Carry {
  /** The first line end was met: from here on the pieces are a line. */
  isLine(): boolean;
  begin(): void;
  push(piece: Buffer): void;
  take(offset: number): FoundLine;
}

const createCarry = (maxLineBytes: number): Carry => {
  let pieces: Buffer[] = [];
  let length = 0;
  let begun = false;
  /** Set once the line is over the limit: what stood at its end. */
  let tail: Buffer | undefined;
  const reset = (): void => {
    pieces = [];
    length = 0;
    tail = undefined;
  };
  return {
    isLine: () => begun,
    begin() {
      begun = true;
      reset();
    },
    push(piece) {
      if (!begun) return; // behind the last line end: no line yet
      length += piece.length;
      pieces.push(piece);
      if (length <= maxLineBytes) return;
      tail ??= lastBytes(pieces);
      // Only the piece nearest to the beginning, and its neighbour, can hold the line's head.
      pieces = pieces.slice(-2);
    },
    take(offset) {
      const found: FoundLine =
        tail === undefined
          ? { kind: 'whole', offset, bytes: join(pieces) }
          : { kind: 'long', offset, length, head: copy(join(pieces).subarray(0, LINE_END_BYTES)), tail };
      reset();
      return found;
    },
  };
};

/** Pieces came from the end to the beginning. */
const join = (pieces: readonly Buffer[]): Buffer =>
  pieces.length === 1 && pieces[0] !== undefined ? pieces[0] : Buffer.concat(pieces.toReversed());

const lastBytes = (pieces: readonly Buffer[]): Buffer => {
  const kept: Buffer[] = [];
  let length = 0;
  for (const piece of pieces) {
    if (length >= LINE_END_BYTES) break;
    kept.push(piece);
    length += piece.length;
  }
  return copy(join(kept).subarray(-LINE_END_BYTES));
};

const copy = (bytes: Buffer): Buffer => Buffer.from(bytes);
