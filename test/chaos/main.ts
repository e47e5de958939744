import { judge } from './judge.ts';
import { parseOptions, USAGE, type ChaosOptions } from './options.ts';
import { failuresOf, faultsOf, judgementLines, outcomeLines } from './report.ts';
import { removeRun, runChaos } from './run.ts';

/** Exit status: 0 passed, 1 failed, 2 wrong arguments. */
async function main(args: readonly string[]): Promise<number> {
  const options = readOptions(args);
  if (options === undefined) return 2;
  if ('judge' in options) return judgeAgain(options.judge);
  return chaos(options);
}

function readOptions(args: readonly string[]): ReturnType<typeof parseOptions> | undefined {
  try {
    return parseOptions(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return undefined;
  }
}

function judgeAgain(folder: string): number {
  const judgement = judge(folder);
  console.log(judgementLines(judgement).join('\n'));
  return faultsOf(judgement).length === 0 ? 0 : 1;
}

async function chaos(options: ChaosOptions): Promise<number> {
  const outcome = await runChaos(options);
  console.log(outcomeLines(outcome).join('\n'));
  const failures = failuresOf(outcome);
  if (failures.length === 0 && !options.keep) removeRun(outcome.folder);
  else console.log(`Journal, transcripts and logs: ${outcome.folder}`);
  if (failures.length === 0) {
    console.log(`Passed. Seed ${options.seed}.`);
    return 0;
  }
  const { seed, chats, minutes, sabotage } = options;
  const broken = sabotage === undefined ? '' : ` --break ${sabotage}`;
  console.log(`FAILED: ${failures.join('; ')}.`);
  console.log(
    `The same schedule again: npm run chaos -- --seed ${seed} --chats ${chats} --minutes ${minutes}${broken}`,
  );
  return 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
const status = await main(process.argv.slice(2));
// What is still open here (kept-alive sockets to services that were killed) has nobody at its other end.
process.exit(status);
