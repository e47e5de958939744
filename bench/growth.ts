import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { compile } from '../test/chaos/sabotage.ts';
import { ROOT } from '../test/support/processes.ts';
import { endedLeave, type Left } from './benches/growth-ended.ts';
import { sessionsGrow } from './benches/growth-sessions.ts';
import { growsTooFast, transcriptsGrow, workersGrow, type Grown } from './benches/growth.ts';
import { svgOf } from './kit/chart.ts';

/**
 * How the costs grow: more sessions, more workers, longer transcripts; and what ended sessions leave in Redis. Writes
 * docs/images/bench-*.svg and one JSON file.
 *
 *   npm run bench:growth -- [--sessions 100,1000] [--ended 1000] [--jobs 20000] [--only transcripts,workers,sessions,ended]
 *                           [--images folder]
 *
 * Files are made below TMPDIR. 50,000 of them take a disk up to half a minute, a memory file system a second.
 */

const PARTS = ['transcripts', 'workers', 'sessions', 'ended'] as const;
const { values } = parseArgs({
  options: {
    sessions: { type: 'string', default: '100,1000,10000,50000' },
    ended: { type: 'string', default: '1000,10000' },
    jobs: { type: 'string', default: '20000' },
    only: { type: 'string', default: PARTS.join(',') },
    images: { type: 'string', default: join(ROOT, 'docs', 'images') },
  },
});
const numbers = (text: string): number[] => text.split(',').map(Number);
const chosen = new Set(values.only.split(','));
const say = (sentence: string): void => console.log(sentence);

async function measure(root: string): Promise<{ grown: Grown[]; left: Left[] }> {
  const grown: Grown[] = [];
  if (chosen.has('transcripts')) grown.push(...(await transcriptsGrow([1, 10, 100, 1_024], say)));
  if (chosen.has('workers')) grown.push(...(await workersGrow(root, [1, 2, 4], Number(values.jobs), say)));
  if (chosen.has('sessions')) grown.push(...(await sessionsGrow(root, numbers(values.sessions), say)));
  return { grown, left: chosen.has('ended') ? await endedLeave(root, numbers(values.ended), say) : [] };
}

function write({ grown, left }: { grown: Grown[]; left: Left[] }): void {
  const images = resolve(values.images);
  const reports = join(ROOT, 'reports', 'bench');
  mkdirSync(images, { recursive: true });
  mkdirSync(reports, { recursive: true });
  for (const { file, chart } of grown) writeFileSync(join(images, `bench-${file}.svg`), svgOf(chart));
  writeFileSync(join(reports, 'growth.json'), `${JSON.stringify({ grown, left }, null, 2)}\n`);
}

function tell({ grown, left }: { grown: Grown[]; left: Left[] }): void {
  for (const { file, power } of grown) say(`${file}: grows with the power ${power.toFixed(2)}`);
  for (const { sessions, armedBytes, leftBytes, leftKeys } of left) {
    const share = ((leftBytes / armedBytes) * 100).toFixed(1);
    say(
      `${sessions} sessions took ${armedBytes} bytes of Redis and left ${leftBytes} (${share} %) in ${leftKeys} more keys`,
    );
  }
  for (const { file, power } of grown.filter(growsTooFast)) {
    say(`WARNING: ${file} grows faster than in proportion (power ${power.toFixed(2)})`);
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const program = compile(undefined);
try {
  const measured = await measure(program.root);
  write(measured);
  tell(measured);
} finally {
  program.remove();
}
process.exit();
