import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compile } from '../test/chaos/sabotage.ts';
import { ROOT } from '../test/support/processes.ts';
import { chartsOfDay } from './benches/day-charts.ts';
import { rowsOfDay, runDay } from './benches/day.ts';
import { svgOf } from './kit/chart.ts';
import { tableOf, writeRun } from './kit/report.ts';

/**
 * A day of 10,000 chats in compressed time: few at night, many in the morning and the afternoon, a tenth of the turns left
 * with a killed task. Writes docs/images/bench-day-*.svg and one JSON file. Exit status 1: a kill was missed or nudged twice.
 *
 *   npm run bench:day -- [--chats 10000] [--minutes 6] [--seed 1] [--images folder]
 */

const { values } = parseArgs({
  options: {
    chats: { type: 'string', default: '10000' },
    minutes: { type: 'string', default: '6' },
    seed: { type: 'string', default: '1' },
    images: { type: 'string', default: join(ROOT, 'docs', 'images') },
  },
});

async function main(): Promise<number> {
  const size = { chats: Number(values.chats), minutes: Number(values.minutes), seed: Number(values.seed) };
  const startedMs = Date.now();
  const program = compile(undefined);
  try {
    const day = await runDay({ root: program.root, ...size, say: (sentence) => console.log(sentence) });
    const rows = rowsOfDay(day);
    const images = resolve(values.images);
    mkdirSync(images, { recursive: true });
    for (const [file, chart] of Object.entries(chartsOfDay(day.samples, size))) {
      writeFileSync(join(images, `bench-${file}.svg`), svgOf(chart));
    }
    const file = writeRun(join(ROOT, 'reports', 'bench', 'day'), {
      scale: { rounds: 1, chats: size.chats, quick: false },
      results: { day: { rows, detail: { ...size, ...day } } },
      startedMs,
    });
    console.log(`\n${tableOf(rows)}\nWritten: ${file}`);
    return rows.every(({ met }) => met) ? 0 : 1;
  } finally {
    program.remove();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exit(await main());
