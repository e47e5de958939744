import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { compile } from '../test/chaos/sabotage.ts';
import { ROOT } from '../test/support/processes.ts';
import { sessionsGrow, transcriptsGrow, workersGrow, type Grown } from './benches/growth.ts';
import { svgOf } from './kit/chart.ts';

/** How the costs grow: more sessions, more workers, longer transcripts. Writes docs/images/bench-*.svg and one JSON file. */

const { values } = parseArgs({
  options: { sessions: { type: 'string', default: '100,1000,10000' }, jobs: { type: 'string', default: '20000' } },
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const program = compile(undefined);
try {
  const sizes = values.sessions.split(',').map(Number);
  const say = (sentence: string): void => console.log(sentence);
  const grown: Grown[] = [
    ...(await transcriptsGrow([1, 10, 100, 1_024], say)),
    ...(await workersGrow(program.root, [1, 2, 4], Number(values.jobs), say)),
    ...(await sessionsGrow(program.root, sizes, say)),
  ];
  const images = join(ROOT, 'docs', 'images');
  const reports = join(ROOT, 'reports', 'bench');
  mkdirSync(images, { recursive: true });
  mkdirSync(reports, { recursive: true });
  for (const { file, chart } of grown) writeFileSync(join(images, `bench-${file}.svg`), svgOf(chart));
  writeFileSync(join(reports, 'growth.json'), `${JSON.stringify(grown, null, 2)}\n`);
  for (const { file, power } of grown) console.log(`${file}: grows with the power ${power.toFixed(2)}`);
} finally {
  program.remove();
}
process.exit();
