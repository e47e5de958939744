import type { Command } from 'commander';
import { type Evidence, type Judgement, REASONS } from '#shared/transcript/finding.js';
import { isoTime, milliseconds, sessionId } from './inspect/arguments.ts';
import { DEFAULT_DEBOUNCE_MS, type Inspection, inspect } from './inspect/inspect.ts';
import { lineNumbers } from './inspect/lines.ts';
import { type Paint, VERDICT_STYLES, painterFor, printable } from './inspect/paint.ts';
import { print } from './inspect/print.ts';

interface ExplainOptions {
  session?: string;
  now?: number;
  firstSeen?: number;
  deliveredSeen?: number;
  debounce: number;
  json?: true;
}

/** `chat-recovery explain FILE`: the verdict on one transcript and the entries that decide it. */
export function registerExplain(program: Command): void {
  program
    .command('explain')
    .description('say whether the chat of a transcript hangs, and show the entries that decide it')
    .argument('<file>', 'transcript (.jsonl); it is only read')
    .option('--session <id>', 'session whose entries count (default: the file’s name, else its newest line)', sessionId)
    .option('--now <iso>', 'judge as of this time (default: the current time)', isoTime)
    .option('--first-seen <iso>', 'when the newest notice was first seen (default: its own time)', isoTime)
    .option('--delivered-seen <iso>', 'when its delivery was first seen (default: its own time)', isoTime)
    .option('--debounce <ms>', 'how long a notice must stand un-answered', milliseconds, DEFAULT_DEBOUNCE_MS)
    .option('--json', 'print one JSON object')
    .action(async (file: string, options: ExplainOptions) => {
      process.exitCode = await explain(file, options);
    });
}

const explain = async (file: string, options: ExplainOptions): Promise<number> => {
  const nowMs = options.now ?? Date.now();
  const inspection = await inspect(file, {
    sessionId: options.session,
    nowMs,
    debounceMs: options.debounce,
    firstSeenMs: options.firstSeen,
    deliveredSeenMs: options.deliveredSeen,
    history: 'wide',
  });
  if (inspection.kind === 'unreadable') {
    console.error(`chat-recovery: cannot read ${printable(file, 1_000)}: ${inspection.why}.`);
    return 2;
  }
  const evidence = await numbered(file, inspection.judgement.evidence);
  if (options.json === true) print(JSON.stringify(asJson(inspection, evidence)));
  else print(asText(inspection, evidence, nowMs, painterFor(process.stdout, process.env)));
  return 0;
};

const numbered = async (file: string, evidence: readonly Evidence[]): Promise<Evidence[]> => {
  const numbers = await lineNumbers(
    file,
    evidence.map(({ offset }) => offset),
  );
  return evidence.map((item) => ({ ...item, line: numbers.get(item.offset) }));
};

type Judged = Extract<Inspection, { kind: 'judged' }>;

/** The shape that programs may rely on. */
const asJson = ({ judgement, skippedLines, bytesRead }: Judged, evidence: readonly Evidence[]): object => ({
  verdict: judgement.verdict,
  reason: judgement.reason,
  tasks: judgement.tasks.map(({ id, status, summary }) => ({ id, status, summary })),
  evidence: evidence.map(({ line, type, timestamp }) => ({
    line: line ?? null,
    type: type.split('/', 1)[0],
    timestamp: timestamp ?? null,
  })),
  skippedLines,
  bytesRead,
});

const asText = (judged: Judged, evidence: readonly Evidence[], nowMs: number, paint: Paint): string => {
  const { judgement, sessionId: session, skippedLines, bytesRead } = judged;
  const { verdict, reason } = judgement;
  const lines = [
    `${paint(VERDICT_STYLES[verdict], paint('bold', verdict))}  ${paint('dim', reason)}`,
    REASONS[reason],
    ...recheckLine(judgement, nowMs),
    '',
    ...judgement.tasks.map((task) => `  ${printable(task.id, 40)}  ${task.status}  ${printable(task.summary)}`),
    ...(judgement.tasks.length > 0 ? [''] : []),
    ...evidence.map((item) => timelineRow(item, paint)),
    ...(judgement.observations.length > 0 ? ['', `also seen: ${judgement.observations.join(', ')}`] : []),
    paint('dim', `session ${printable(session, 60)}, ${bytesRead} bytes read, ${skippedLines} lines skipped`),
  ];
  return lines.join('\n');
};

const recheckLine = (judgement: Judgement, nowMs: number): string[] =>
  judgement.recheckAtMs === undefined
    ? []
    : [`It will be hung in ${Math.ceil((judgement.recheckAtMs - nowMs) / 1_000)} s if nothing follows.`];

const timelineRow = (item: Evidence, paint: Paint): string => {
  const line = String(item.line ?? '').padStart(7);
  const stamp = printable(item.timestamp ?? '', 24).padEnd(24);
  return `${paint('dim', `${line}  ${stamp}`)}  ${printable(item.type, 28).padEnd(26)}  ${printable(item.note)}`;
};
