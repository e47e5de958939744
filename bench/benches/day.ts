import { setTimeout as sleep } from 'node:timers/promises';
import type { BenchRow } from '../kit/bench.ts';
import { atMost, told } from '../kit/bench.ts';
import { cpuSince } from '../kit/cpu.ts';
import { Deliverer } from '../kit/deliver.ts';
import { Site } from '../kit/site.ts';
import { quantile, single } from '../kit/statistics.ts';
import { DayChats } from './day-chats.ts';
import { planDay, type PlannedChat } from './day-plan.ts';
import { createSampler, type DaySample } from './day-samples.ts';

/** A day of many chats in compressed time, through a real watcher, two workers and Redis. */

const WORKERS = 2;
const DEBOUNCE_MS = 5_000;
const SAMPLE_MS = 2_000;
/** After the last nudge: one too many would have come by then. */
const AFTERMATH_MS = DEBOUNCE_MS + 3_000;

export interface DayOutcome {
  turnEnds: number;
  appends: number;
  kills: number;
  nudgedOnce: number;
  missed: number;
  twice: number;
  /** Nudges of chats in which nothing had been killed. */
  stray: number;
  /** Deliveries that were answered 503 and sent again. */
  repeated: number;
  overshootMs: { least: number; median: number; p99: number; greatest: number };
  cpuSeconds: Record<string, number>;
  samples: DaySample[];
}

export interface DayRun {
  root: string;
  chats: number;
  minutes: number;
  seed: number;
  say: (sentence: string) => void;
}

export async function runDay({ root, chats: count, minutes, seed, say }: DayRun): Promise<DayOutcome> {
  const dayMs = minutes * 60_000;
  const plan = planDay({ chats: count, dayMs, seed });
  const site = await Site.start({ root, workers: WORKERS, debounceMs: DEBOUNCE_MS });
  try {
    const deliverer = new Deliverer(() => site.sender);
    const chats = new DayChats(site, deliverer, DEBOUNCE_MS);
    const used = cpuSince(site.pids());
    const samples = await sampleWhile(
      await createSampler(site, chats, (ms) => (ms / dayMs) * 24),
      live(chats, plan),
      (sample) => say(brief(sample)),
    );
    const cpuSeconds = Object.fromEntries(Object.entries(used()).map(([part, ms]) => [part, ms / 1_000]));
    return { ...accountOf(chats), repeated: deliverer.repeated, cpuSeconds, samples };
  } finally {
    await site.close();
  }
}

const accountOf = (chats: DayChats) => {
  const overshoot = chats.nudged.map(({ overshootMs }) => overshootMs);
  const { turnEnds, appends, missed, twice, stray } = chats;
  const kills = chats.kills.length;
  return {
    turnEnds,
    appends,
    missed,
    twice,
    stray,
    kills,
    nudgedOnce: kills - missed - twice,
    overshootMs: {
      least: quantile(overshoot, 0),
      median: quantile(overshoot, 0.5),
      p99: quantile(overshoot, 0.99),
      greatest: quantile(overshoot, 1),
    },
  };
};

/** Every chat's life, begun when it is born. One that fails ends the day. */
async function live(chats: DayChats, plan: readonly PlannedChat[]): Promise<void> {
  const startMs = performance.now();
  const lives: Promise<void>[] = [];
  const failures: unknown[] = [];
  for (const planned of plan) {
    const leftMs = startMs + planned.bornMs - performance.now();
    if (leftMs > 0) await sleep(leftMs);
    if (failures.length > 0) throw failures[0];
    const life = chats.live(planned);
    void life.catch((error: unknown) => failures.push(error));
    lives.push(life);
  }
  await Promise.all(lives);
  await sleep(AFTERMATH_MS);
}

async function sampleWhile(
  sample: () => Promise<DaySample>,
  work: Promise<void>,
  onSample: (sample: DaySample) => void,
): Promise<DaySample[]> {
  const samples: DaySample[] = [];
  const state = { isOver: false };
  const ended = work.finally(() => {
    state.isOver = true;
  });
  while (!state.isOver) {
    await Promise.race([sleep(SAMPLE_MS), ended]);
    samples.push(await sample());
    onSample(samples.at(-1) as DaySample);
  }
  await ended;
  return samples;
}

const brief = ({ hour, cpuPercent, turnEndsPerSecond, armed, overshootMs }: DaySample): string => {
  const percent = Object.values(cpuPercent).map((part) => part.toFixed(0));
  const overshoot = overshootMs === null ? '' : `, overshoot ${overshootMs.median.toFixed(0)} ms`;
  return `day, hour ${hour.toFixed(1)}: ${turnEndsPerSecond.toFixed(0)} turn ends/s, ${armed} armed, CPU ${percent.join(' + ')} %${overshoot}`;
};

/** The bars of a day: no kill is missed, none is nudged twice, none without a kill. */
export function rowsOfDay(day: DayOutcome): BenchRow[] {
  const none = (what: string, value: number) =>
    atMost(0, { bar: undefined, what, against: 'chats', figure: single(value) });
  return [
    told({ what: 'turn ends', against: 'in the day', figure: single(day.turnEnds) }),
    told({ what: 'kills', against: 'in the day', figure: single(day.kills) }),
    none('kills that were not nudged', day.missed),
    none('kills that were nudged twice', day.twice),
    none('nudges without a kill', day.stray),
    told({ what: 'overshoot of a nudge', against: 'ms', figure: spreadOfDay(day) }),
    told({ what: 'overshoot of a nudge, p99', against: 'ms', figure: single(day.overshootMs.p99) }),
    ...Object.entries(day.cpuSeconds).map(([part, seconds]) =>
      told({ what: `CPU of ${part}`, against: 's', figure: single(seconds) }),
    ),
  ];
}

const spreadOfDay = ({ overshootMs: { least, median, greatest } }: DayOutcome) => ({
  median,
  min: least,
  max: greatest,
});
