import { appendFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ReadContext, TranscriptSource } from '#shared/transcript/finding.js';
import { headOf, mayHoldAnother, trimmed } from '#shared/transcript/head.js';
import { createMemorySource, localFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import { atLeast, atMost, told, type Bench, type BenchRow } from '../kit/bench.ts';
import { single, spreadOf } from '../kit/statistics.ts';

/**
 * Bars 6 and 7: what an evaluation reads and how its time grows with the file, and what telling the lines that could decide
 * from the others costs against parsing every line.
 */

const FIXTURES = join(import.meta.dirname, '../../test/fixtures/transcripts/2.1.332');
/** The largest recorded file. */
const LARGEST = 'compact_after_kill';

export const contextOf = (sessionId: string): ReadContext => ({
  sessionId,
  answeredTaskIds: new Set(),
  senderLabels: [],
  scanLimitBytes: 64 * 1_024 ** 2,
});

/** Microseconds that one run of `work` takes, as the mean over `times`. */
const timeOf = async (work: () => unknown, times: number): Promise<number> => {
  const start = performance.now();
  for (let n = 0; n < times; n += 1) await work();
  return ((performance.now() - start) / times) * 1_000;
};

const sessionOf = (content: Buffer): string => /"sessionId":"([^"]+)"/.exec(content.toString('utf8'))?.[1] ?? '';

/** Fixtures hold runs of `x` where long texts were taken out; texts of the same length in their place parse as real ones do. */
const withProse = (content: Buffer): Buffer => {
  const prose = String.raw`Read the file first.\n- Use \"quotes\" for paths, and keep lines short;\n\tthen run the tests.\n`;
  return Buffer.from(
    content.toString('utf8').replaceAll(/x{40,}/g, (run) => {
      const text = prose.repeat(Math.ceil(run.length / prose.length)).slice(0, run.length - 2);
      return `${text.replace(/\\+$/, '')}..`;
    }),
  );
};

const linesOf = (content: Buffer): Buffer[] => {
  const lines: Buffer[] = [];
  for (let from = 0; from < content.length;) {
    const end = content.indexOf(0x0a, from);
    if (end === -1) break;
    lines.push(content.subarray(from, end));
    from = end + 1;
  }
  return lines;
};

/** Bar 7: telling which lines of a file could decide, against JSON.parse of every line. */
const benchClassify = async (name: string, prose: boolean, rounds: number): Promise<BenchRow[]> => {
  const recorded = readFileSync(join(FIXTURES, `${name}.jsonl`));
  const content = prose ? withProse(recorded) : recorded;
  const context = contextOf(sessionOf(content));
  const source = createMemorySource(new Map([['chat', content]]));
  const lines = linesOf(content);
  const parseAll = (): void => lines.forEach((line) => JSON.parse(line.toString('utf8')));
  const classify = (): void => lines.forEach((line) => isInert(trimmed(line)));
  const judge = (): Promise<unknown> => readFinding(source, 'chat', context);
  for (const work of [parseAll, classify, judge]) await timeOf(work, 2_000);
  const ratios: { classify: number; judge: number }[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const base = await timeOf(parseAll, 200);
    ratios.push({ classify: base / (await timeOf(classify, 500)), judge: base / (await timeOf(judge, 200)) });
  }
  const texts = `${name}, ${prose ? 'texts filled in' : 'as recorded'}`;
  const against = '× faster than JSON.parse of each line';
  return [
    atLeast(15, {
      bar: 7,
      what: `classifying ${texts}`,
      against,
      figure: spreadOf(ratios.map((ratio) => ratio.classify)),
    }),
    told({ what: `the whole verdict on ${texts}`, against, figure: spreadOf(ratios.map((ratio) => ratio.judge)) }),
  ];
};

const isInert = (line: Buffer): boolean => {
  const head = headOf(line);
  return head.kind === 'inert' && !mayHoldAnother(line, head.end);
};

const TAIL = (sessionId: string): string =>
  [
    { type: 'user', message: { role: 'user', content: 'Build it.' }, promptSource: 'sdk' },
    assistant([{ type: 'tool_use', id: 'toolu_1', name: 'Bash', input: { run_in_background: true } }], 'tool_use'),
    {
      type: 'user',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'started' }] },
      toolUseResult: { backgroundTaskId: 'b1' },
    },
    assistant([{ type: 'text', text: 'It runs.' }], 'end_turn'),
    { type: 'last-prompt', lastPrompt: 'x'.repeat(20_000) },
    {
      type: 'queue-operation',
      operation: 'enqueue',
      content:
        '<task-notification><task-id>b1</task-id><tool-use-id>toolu_1</tool-use-id><status>killed</status></task-notification>',
    },
  ]
    .map((entry) => `${JSON.stringify({ ...entry, version: '2.1.332', sessionId })}\n`)
    .join('');

const assistant = (content: unknown, stopReason: string): object => ({
  type: 'assistant',
  message: { role: 'assistant', model: 'm', stop_reason: stopReason, content },
});

/** A hung chat at the end of a file of `size` bytes; what stands before it takes no room on the disk. */
export const hungFile = (path: string, size: number, sessionId: string): void => {
  const tail = `\n${TAIL(sessionId)}`;
  writeFileSync(path, '');
  truncateSync(path, Math.max(0, size - tail.length));
  appendFileSync(path, tail);
};

/** Bar 6: bytes of one evaluation beyond the deciding entry, and the time of a file of 1 GB against one of 1 MB. */
const benchTail = async (rounds: number): Promise<BenchRow[]> => {
  const folder = mkdtempSync(join(tmpdir(), 'chat-recovery-bench-'));
  const sessionId = 'a0000000-0000-4000-8000-00000000000a';
  const context = contextOf(sessionId);
  const small = join(folder, 'small.jsonl');
  const large = join(folder, 'large.jsonl');
  try {
    hungFile(small, 1_024 ** 2, sessionId);
    hungFile(large, 1_024 ** 3, sessionId);
    const read = (path: string): Promise<unknown> => readFinding(localFiles, path, context);
    await timeOf(() => read(small), 200);
    await timeOf(() => read(large), 200);
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const base = await timeOf(() => read(small), 200);
      ratios.push((await timeOf(() => read(large), 200)) / base);
    }
    return [
      atMost(2, {
        bar: 6,
        what: 'time to judge a hung chat of 1 GB',
        against: '× the same in 1 MB',
        figure: spreadOf(ratios),
      }),
      await bytesRow(localFiles, large, context),
    ];
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const BLOCK_BYTES = 64 * 1_024;

const bytesRow = async (source: TranscriptSource, path: string, context: ReadContext): Promise<BenchRow> => {
  const outcome = await readFinding(source, path, context);
  if (outcome.kind !== 'read') throw new Error(`the bench's own file cannot be judged: ${outcome.kind}`);
  const launch = outcome.finding.evidence.find(({ note }) => note.startsWith('launch'));
  const distance = outcome.file.size - (launch?.offset ?? 0);
  const ratio = outcome.bytesRead / (distance + BLOCK_BYTES);
  return atMost(1, {
    bar: 6,
    what: 'bytes read of a hung chat',
    against: '× launch to end + one block of 64 KB',
    figure: single(ratio),
  });
};

export const transcripts: Bench = {
  name: 'transcripts',
  about: 'bytes and time of a verdict, against file size and against parsing each line',
  async run({ scale }) {
    const rounds = Math.max(scale.rounds, 5);
    const rows = await benchTail(rounds);
    for (const prose of [false, true]) rows.push(...(await benchClassify(LARGEST, prose, rounds)));
    return { rows, detail: {} };
  },
};
