import { painterFor, printable } from '../inspect/paint.ts';
import { print } from '../inspect/print.ts';
import type { CheckResult } from './check.ts';

const MARKS = { kept: '✓', broken: '✗', 'not-checked': '–' } as const;
const STYLES = { kept: 'green', broken: 'red', 'not-checked': 'dim' } as const;

/** The outcome for people: every point, and under each broken one what was seen and what comes of it. */
export function printReport(results: readonly CheckResult[]): void {
  const paint = painterFor(process.stdout, process.env);
  for (const { id, title, consequence, verdict, detail } of results) {
    print(`${paint(STYLES[verdict], MARKS[verdict])} ${title}  ${paint('dim', id)}`);
    if (verdict === 'kept') continue;
    print(`    ${verdict === 'broken' ? 'Seen: ' : 'Not checked: '}${printable(detail ?? '', 400)}`);
    if (verdict === 'broken') print(`    So: ${consequence}`);
  }
  const count = (verdict: CheckResult['verdict']): number => results.filter((one) => one.verdict === verdict).length;
  print(`\n${count('kept')} kept, ${count('broken')} broken, ${count('not-checked')} not checked`);
}
