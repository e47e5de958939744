import type { Spread } from './statistics.ts';

/** What one bench compares, and what came out. */
export interface BenchRow {
  /** Number of the bar it belongs to; `undefined`: only told. */
  bar: number | undefined;
  what: string;
  /** What the figure is a ratio to, or its unit. */
  against: string;
  figure: Spread;
  /** The bar in words, e.g. `<= 0.7`. */
  limit: string;
  met: boolean;
  /** Why the figure does not count, where it does not. */
  void?: string;
}

/** Sizes of a run. */
export interface Scale {
  /** Interleaved rounds of each comparison. */
  rounds: number;
  /** Chats of the great runs; 10,000 at full size. */
  chats: number;
  /** Small everywhere: for a first look and for CI. */
  quick: boolean;
}

export interface BenchContext {
  scale: Scale;
  /** Folder of the compiled services. */
  root: string;
  say: (sentence: string) => void;
}

export interface BenchResult {
  rows: BenchRow[];
  /** Whatever else was measured; it goes to the file of the run. */
  detail: Record<string, unknown>;
}

export interface Bench {
  name: string;
  about: string;
  run(context: BenchContext): Promise<BenchResult>;
}

type RowFields = Omit<BenchRow, 'limit' | 'met'>;

/** A row whose median must not be above `limit`. */
export function atMost(limit: number, row: RowFields): BenchRow {
  return { ...row, limit: `<= ${limit}`, met: row.void === undefined && row.figure.median <= limit };
}

/** A row whose median must not be below `limit`. */
export function atLeast(limit: number, row: RowFields): BenchRow {
  return { ...row, limit: `>= ${limit}`, met: row.void === undefined && row.figure.median >= limit };
}

/** A row that has no bar. */
export function told(row: Omit<RowFields, 'bar'>): BenchRow {
  return { ...row, bar: undefined, limit: '', met: true };
}
