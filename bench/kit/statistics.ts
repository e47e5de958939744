/** Median, least and greatest of several rounds. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** The value below which the share `q` (0 to 1) of the values lies, between two neighbours in proportion; NaN of none. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const position = (sorted.length - 1) * q;
  const below = sorted[Math.floor(position)] ?? Number.NaN;
  const above = sorted[Math.ceil(position)] ?? Number.NaN;
  return below + (above - below) * (position - Math.floor(position));
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: quantile(values, 0.5), min: Math.min(...values), max: Math.max(...values) };
}

/** One figure, where nothing is repeated. */
export function single(value: number): Spread {
  return { median: value, min: value, max: value };
}

/** Least-squares slope of y over x; 0 where all x are equal. */
export function slopeOf(points: readonly (readonly [x: number, y: number])[]): number {
  const n = points.length;
  const meanX = points.reduce((sum, [x]) => sum + x, 0) / n;
  const meanY = points.reduce((sum, [, y]) => sum + y, 0) / n;
  let products = 0;
  let squares = 0;
  for (const [x, y] of points) {
    products += (x - meanX) * (y - meanY);
    squares += (x - meanX) ** 2;
  }
  return squares === 0 || n === 0 ? 0 : products / squares;
}

/**
 * By which power of x the values grow: the slope on logarithmic scales. 1 is in proportion, 0 not at all, above 1 worse than
 * in proportion. All must be above 0.
 */
export function growthOf(points: readonly (readonly [x: number, y: number])[]): number {
  return slopeOf(points.map(([x, y]) => [Math.log(x), Math.log(y)] as const));
}
