const MOST_TICKS = 8;
const STEPS = [1, 2, 3, 5, 10] as const;

/** Where the axis below a chart is labelled: at each of a few values, at round ones within many. */
export function ticksOf(values: readonly number[], isLog: boolean): number[] {
  const different = [...new Set(values)];
  if (different.length <= MOST_TICKS) return different;
  const sorted = different.toSorted((a, b) => a - b);
  return isLog ? some(sorted) : round(sorted[0] ?? 0, sorted.at(-1) ?? 0);
}

function some(sorted: readonly number[]): number[] {
  const every = Math.ceil(sorted.length / MOST_TICKS);
  return sorted.filter((_, n) => n % every === 0);
}

function round(least: number, greatest: number): number[] {
  const wanted = (greatest - least) / MOST_TICKS;
  const power = 10 ** Math.floor(Math.log10(wanted));
  const step = (STEPS.find((candidate) => candidate * power >= wanted) ?? 10) * power;
  const first = Math.ceil(least / step);
  const count = Math.floor(greatest / step) - first + 1;
  return Array.from({ length: count }, (_, n) => (first + n) * step);
}
