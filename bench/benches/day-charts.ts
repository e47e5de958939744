import type { Chart, Series } from '../kit/chart.ts';
import type { DaySample, Part } from './day-samples.ts';

const PARTS: readonly (readonly [part: Part, name: string])[] = [
  ['watcher', 'watcher'],
  ['worker', 'two workers'],
  ['redis', 'Redis'],
];

/** The day as charts, by the end of their files' names. */
export function chartsOfDay(
  samples: readonly DaySample[],
  { chats, minutes }: { chats: number; minutes: number },
): Record<string, Chart> {
  const of = (name: string, pick: (sample: DaySample) => number | undefined): Series => ({
    name,
    points: samples.flatMap((sample) => {
      const value = pick(sample);
      return value === undefined ? [] : [[sample.hour, value] as const];
    }),
  });
  const x = `hour of a day of ${chats.toLocaleString('en')} chats, in ${minutes} min`;
  return {
    'day-cpu': {
      title: 'CPU through a day',
      x,
      y: '% of a core',
      series: PARTS.map(([part, name]) => of(name, ({ cpuPercent }) => cpuPercent[part])),
    },
    'day-memory': {
      title: 'Memory through a day',
      x,
      y: 'MB',
      series: [
        ...PARTS.map(([part, name]) => of(`${name}, resident`, ({ rssMb }) => rssMb[part])),
        of('Redis, used', ({ redisMb }) => redisMb),
      ],
    },
    'day-commands': {
      title: 'Redis commands through a day',
      x,
      y: 'commands a second, those inside scripts included',
      series: [of('commands', ({ redisCommandsPerSecond }) => redisCommandsPerSecond)],
    },
    'day-overshoot': {
      title: 'From kill to nudge beyond the debounce',
      x,
      y: 'ms',
      series: [
        of('median of 2 s', ({ overshootMs }) => overshootMs?.median),
        of('p99 of 2 s', ({ overshootMs }) => overshootMs?.p99),
      ],
    },
  };
}
