import type { Judgement } from './judge.ts';
import { WINDOWS } from './plan-faults.ts';
import type { Outcome } from './run.ts';

/** At least this share of the chats must hang. */
const HUNG_SHARE = 0.3;
const SHOWN = 12;

/** Everything for which a run fails, in words; none: it passed. */
export function failuresOf({ judgement, windows }: Outcome): string[] {
  return [...faultsOf(judgement), ...softSpots(judgement, windows)];
}

/** What recovery did wrong. */
export function faultsOf({ nudgedTwice, missed, wrong, lost }: Judgement): string[] {
  const counts = { 'nudged twice': nudgedTwice, missed, 'wrongly nudged': wrong, lost };
  return Object.entries(counts).flatMap(([name, list]) => (list.length > 0 ? [`${name}: ${list.length}`] : []));
}

/** In what the run was too easy to prove anything. */
function softSpots({ hung, chats, unplayed }: Judgement, windows: Outcome['windows']): string[] {
  const spots = WINDOWS.filter((window) => windows[window] === 0).map((window) => `nobody died between ${window}`);
  if (hung < chats * HUNG_SHARE) spots.push(`only ${hung} of ${chats} chats hung`);
  if (unplayed.length > 0) spots.push(`${unplayed.length} chats were not played: ${unplayed[0]}`);
  return spots;
}

export function judgementLines(judgement: Judgement): string[] {
  const { nudgedTwice, missed, wrong, lost, raced } = judgement;
  const rows: [string, number | string][] = [
    ['seed', judgement.seed],
    ['chats', judgement.chats],
    ['hung', `${judgement.hung} (${Math.round((100 * judgement.hung) / judgement.chats)} %)`],
    ['nudged once', judgement.nudgedOnce],
    ['nudged twice', nudgedTwice.length],
    ['missed', missed.length],
    ['wrongly nudged', wrong.length],
    ['lost', lost.length],
    ['raced', raced.length],
  ];
  const table = rows.map(([name, value]) => `  ${name.padEnd(16)}${value}`);
  const named = { 'nudged twice': nudgedTwice, missed, 'wrongly nudged': wrong, lost, raced };
  return [
    ...table,
    ...Object.entries(named).flatMap(([name, list]) => list.slice(0, SHOWN).map((x) => `${name}: ${x}`)),
  ];
}

export function outcomeLines(outcome: Outcome): string[] {
  const { windows, leftOver, judgement } = outcome;
  const hits = WINDOWS.map((window) => `${window} ${windows[window]}`).join(', ');
  return [
    ...judgementLines(judgement),
    `  ${'left over'.padEnd(16)}${leftOver.length}`,
    ...leftOver.slice(0, SHOWN).map((what) => `left over: ${what}`),
    `Processes killed: ${outcome.kills}; in the windows: ${hits}. ${outcome.seconds} s.`,
  ];
}
