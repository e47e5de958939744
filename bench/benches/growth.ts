import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import type { Chart } from '../kit/chart.ts';
import { Site } from '../kit/site.ts';
import { growthOf, quantile } from '../kit/statistics.ts';
import { createWork } from './evaluations.ts';
import { contextOf, hungFile } from './transcripts.ts';

/** What grew with what, as a chart, and by which power of it. */
export interface Grown {
  file: string;
  chart: Chart;
  power: number;
  /** 0: the figure is of one of them, 1: of all together; `undefined`: the more it grows, the better. */
  inProportion: number | undefined;
}

export type Say = (sentence: string) => void;
export type Point = readonly [number, number];

/** What the scatter of measuring alone may make of a figure that grows in proportion. */
const SCATTER = 0.15;

export function grown(
  file: string,
  { inProportion, ...chart }: Omit<Chart, 'series'> & Pick<Grown, 'inProportion'>,
  points: readonly Point[],
): Grown {
  const power = growthOf(points.map(([x, y]) => [x, Math.max(y, 1e-6)] as const));
  return { file, chart: { ...chart, series: [{ name: chart.title, points }] }, power, inProportion };
}

/** Whether the whole grows faster than in proportion. */
export const growsTooFast = ({ power, inProportion }: Grown): boolean =>
  inProportion !== undefined && power > inProportion + SCATTER;

/** Clean evaluations a second with more worker processes. */
export async function workersGrow(root: string, counts: readonly number[], jobs: number, say: Say): Promise<Grown[]> {
  const site = await Site.start({ root, workers: 0, watcher: false });
  const points: Point[] = [];
  try {
    const work = await createWork(site);
    for (const count of counts) {
      const workers = await Promise.all(Array.from({ length: count }, () => site.startWorker()));
      await work.fill(1_000);
      await work.drain();
      await work.fill(jobs);
      const { seconds } = await work.drain();
      points.push([count, jobs / seconds]);
      say(`${count} workers: ${(jobs / seconds).toFixed(0)} evaluations/s`);
      await Promise.all(workers.map((worker) => worker.stop()));
    }
    await work.close();
  } finally {
    await site.close();
  }
  return [
    grown(
      'workers',
      {
        title: 'Clean evaluations a second',
        x: 'worker processes',
        y: 'evaluations a second',
        inProportion: undefined,
      },
      points,
    ),
  ];
}

/** Time to judge a hung chat in longer and longer files. */
export async function transcriptsGrow(megabytes: readonly number[], say: Say): Promise<Grown[]> {
  const folder = mkdtempSync(join(tmpdir(), 'chat-recovery-bench-'));
  const sessionId = 'a0000000-0000-4000-8000-00000000000a';
  const context = contextOf(sessionId);
  try {
    const points: Point[] = [];
    for (const size of megabytes) {
      const path = join(folder, `${size}.jsonl`);
      hungFile(path, size * 1_024 ** 2, sessionId);
      const times: number[] = [];
      for (let n = 0; n < 500; n += 1) {
        const startMs = performance.now();
        await readFinding(localFiles, path, context);
        times.push((performance.now() - startMs) * 1_000);
      }
      points.push([size, quantile(times, 0.5)]);
      say(`${size} MB: ${points.at(-1)?.[1].toFixed(0)} µs`);
    }
    return [
      grown(
        'transcript-size',
        { title: 'Time to judge a hung chat', x: 'transcript in MB', y: 'µs', logX: true, inProportion: 0 },
        points,
      ),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
}
