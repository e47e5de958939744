import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import type { BenchResult, BenchRow, Scale } from './bench.ts';

const number = (value: number): string =>
  Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(2);

/** The rows as a Markdown table, in the order of the bars. */
export function tableOf(rows: readonly BenchRow[]): string {
  const sorted = rows.toSorted((a, b) => (a.bar ?? 99) - (b.bar ?? 99));
  const cells = sorted.map(({ bar, what, against, figure, limit, met, void: reason }) => [
    bar === undefined ? '' : String(bar),
    what,
    `${number(figure.median)} [${number(figure.min)}..${number(figure.max)}]`,
    against,
    limit,
    reason === undefined ? (limit === '' ? '' : met ? 'met' : 'missed') : `void: ${reason}`,
  ]);
  const head = ['bar', 'what', 'median [least..greatest]', 'unit', 'bar is', ''];
  const widths = head.map((title, column) => Math.max(...[head, ...cells].map((row) => (row[column] ?? title).length)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join('\n');
}

/** Writes one run to a file of its own below `folder` and gives its path. */
export function writeRun(
  folder: string,
  run: { scale: Scale; results: Record<string, BenchResult>; startedMs: number },
): string {
  mkdirSync(folder, { recursive: true });
  const machine = { node: process.version, cores: cpus().length, cpu: cpus()[0]?.model, load: loadavg() };
  const file = join(folder, `${new Date(run.startedMs).toISOString().replaceAll(':', '-')}.json`);
  writeFileSync(file, `${JSON.stringify({ machine, ...run, endedMs: Date.now() }, null, 2)}\n`);
  return file;
}
