import { randomOf } from '../kit/random.ts';

/** What happens in a day, drawn before it begins: the same seed gives the same day. All times in compressed milliseconds. */

/** One turn of a chat, from the person's message on. */
export interface PlannedTurn {
  /** Since the end of whatever was before. */
  pauseMs: number;
  lengthMs: number;
  /** From its end to the kill of its background task; `undefined`: nothing is killed. */
  killedAfterMs: number | undefined;
}

export interface PlannedChat {
  bornMs: number;
  turns: PlannedTurn[];
  /** Closed after its last turn, or left open. */
  closes: boolean;
}

export interface DayOptions {
  chats: number;
  dayMs: number;
  seed: number;
}

const MOST_TURNS = 6;
const KILLED_SHARE = 0.1;
const CLOSED_SHARE = 0.5;
const PAUSE_MS = { least: 200, most: 5_000 };
const LENGTH_MS = { least: 200, most: 1_500 };
const KILLED_AFTER_MS = { least: 500, most: 6_000 };
/** Slices of the day in which the load is taken as even: one each minute. */
const SLICES = 1_440;

/** How many chats begin at an hour, in any unit: hardly any at night, peaks at half past ten and half past three. */
export function loadAt(hour: number): number {
  const hill = (peak: number, width: number): number => Math.exp(-(((hour - peak) / width) ** 2));
  return 0.04 + hill(10.5, 2) + 0.9 * hill(15.5, 2.2) + 0.15 * hill(20, 2);
}

/** The chats in the order of their births. */
export function planDay({ chats, dayMs, seed }: DayOptions): PlannedChat[] {
  const random = randomOf(seed);
  const births = Array.from({ length: chats }, () => bornAt(random())).toSorted((a, b) => a - b);
  return births.map((share) => ({
    bornMs: share * dayMs,
    turns: Array.from({ length: 1 + Math.floor(random() * MOST_TURNS) }, () => planTurn(random)),
    closes: random() < CLOSED_SHARE,
  }));
}

function planTurn(random: () => number): PlannedTurn {
  const within = ({ least, most }: { least: number; most: number }): number => least + random() * (most - least);
  return {
    pauseMs: within(PAUSE_MS),
    lengthMs: within(LENGTH_MS),
    killedAfterMs: random() < KILLED_SHARE ? within(KILLED_AFTER_MS) : undefined,
  };
}

const SUMS = sums();

function sums(): number[] {
  let sum = 0;
  return Array.from({ length: SLICES }, (_, slice) => (sum += loadAt(((slice + 0.5) / SLICES) * 24)));
}

/** The moment, as a share of the day, by which the share `q` of all chats has begun. */
function bornAt(q: number): number {
  const wanted = q * (SUMS.at(-1) ?? 0);
  const slice = SUMS.findIndex((sum) => sum >= wanted);
  const before = SUMS[slice - 1] ?? 0;
  const within = (wanted - before) / ((SUMS[slice] ?? before) - before);
  return (slice + within) / SLICES;
}
