import type { Command } from 'commander';
import { examine } from './doctor.ts';
import type { Finding } from './finding.ts';
import { lineOf } from './print.ts';

/** `chat-recovery doctor`: one line for each part; 1 when anything is wrong. */
export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .description('look at everything that recovery needs, and say what is wrong and what to do')
    .option('--json', 'print one JSON object a line')
    .action(async ({ json }: { json?: true }) => {
      const findings = await examine(process.env);
      for (const finding of findings)
        console.log(json === true ? JSON.stringify(finding) : lineOf(finding, process.stdout.isTTY));
      process.exitCode = isWell(findings) ? 0 : 1;
    });
}

const isWell = (findings: readonly Finding[]): boolean => findings.every(({ state }) => state !== 'wrong');
