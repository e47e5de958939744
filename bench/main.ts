import { parseArgs } from 'node:util';
import { join } from 'node:path';
import { compile } from '../test/chaos/sabotage.ts';
import { ROOT } from '../test/support/processes.ts';
import { BENCHES } from './benches/all.ts';
import type { Bench, BenchResult, Scale } from './kit/bench.ts';
import { tableOf, writeRun } from './kit/report.ts';

/** The bars of docs/capacity.md, each measured beside what it is compared with. Exit status 1: `--strict` and a bar missed. */

const USAGE = `npm run bench [-- options] [-- name…]

  --quick       small sizes, 3 rounds
  --rounds N    interleaved rounds (5)
  --chats N     chats of the great runs (10000)
  --strict      exit status 1 where a bar is missed

Names:
${BENCHES.map(({ name, about }) => `  ${name.padEnd(12)}  ${about}`).join('\n')}`;

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      chats: { type: 'string' },
    },
  });
  const unknown = positionals.filter((name) => !BENCHES.some((bench) => bench.name === name));
  if (values.help || unknown.length > 0) {
    console.log(unknown.length > 0 ? `There is no bench "${unknown.join('", "')}".\n\n${USAGE}` : USAGE);
    return unknown.length > 0 ? 2 : 0;
  }
  const { quick } = values;
  const scale = {
    quick,
    rounds: Number(values.rounds ?? (quick ? 3 : 5)),
    chats: Number(values.chats ?? (quick ? 500 : 10_000)),
  };
  const chosen = BENCHES.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  const results = await runAll(chosen, scale);
  const rows = Object.values(results).flatMap((result) => result.rows);
  console.log(`\n${tableOf(rows)}`);
  return values.strict && rows.some(({ met }) => !met) ? 1 : 0;
}

async function runAll(benches: readonly Bench[], scale: Scale): Promise<Record<string, BenchResult>> {
  const startedMs = Date.now();
  const program = compile(undefined);
  const results: Record<string, BenchResult> = {};
  try {
    for (const bench of benches) {
      results[bench.name] = await bench.run({ scale, root: program.root, say: (sentence) => console.log(sentence) });
    }
  } finally {
    program.remove();
    const file = writeRun(join(ROOT, 'reports', 'bench'), { scale, results, startedMs });
    console.log(`Written: ${file}`);
  }
  return results;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.exitCode = await main();
process.exit();
