import type { Finding } from './finding.ts';

const MARKS = { ok: 'ok     ', note: 'note   ', wrong: 'WRONG  ', skipped: 'skipped' } as const;
const COLOURS = { ok: 32, note: 36, wrong: 31, skipped: 90 } as const;

/** `WRONG   redis: appendonly is no. → Set it to yes …` */
export function lineOf({ part, state, what, todo }: Finding, colour: boolean): string {
  const mark = colour ? `\u001B[${COLOURS[state]}m${MARKS[state]}\u001B[0m` : MARKS[state];
  return `${mark} ${part}: ${what}${todo === undefined ? '' : ` → ${todo}`}`;
}
