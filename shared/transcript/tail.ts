import { BLOCKS, type BackwardsOptions, type BackwardsResult, readBackwards } from './backwards.ts';
import type { ReadContext, ReadOutcome, TranscriptSource, TranscriptView } from './finding.ts';
import { parseLine } from './line.ts';
import { parseLongLine } from './long-line.ts';
import { type Reducer, createReducer } from './signature.ts';

/** How often a file that shrank while it was read is begun again; then it is left to the next look. */
const MAX_RESTARTS = 3;

/**
 * Reads a transcript backwards until the chat's verdict is certain: a {@link ReadOutcome} for `judge`.
 *
 * Never creates or changes a file, never throws for what a file holds or for a file that went away; memory is bounded
 * whatever the length of file and line. Over the scan limit the outcome is `undetermined`.
 *
 * @throws only what a source throws that is no system error (a programming error, an aborted call).
 */
export const readFinding = async (
  source: TranscriptSource,
  path: string,
  context: ReadContext,
  blocks: Partial<BackwardsOptions> = {},
): Promise<ReadOutcome> => {
  const options = { ...BLOCKS, scanLimitBytes: context.scanLimitBytes, ...blocks };
  for (let restart = 0; restart <= MAX_RESTARTS; restart += 1) {
    const outcome = await readOnce(source, path, context, options);
    if (outcome !== 'shrunk') return outcome;
  }
  return { kind: 'unreadable', code: 'ECHANGING' };
};

/** The same under the name by which services ask for it. */
export const lookAt = readFinding;

const readOnce = async (
  source: TranscriptSource,
  path: string,
  context: ReadContext,
  options: BackwardsOptions,
): Promise<ReadOutcome | 'shrunk'> => {
  const opened = await source.open(path);
  if ('missing' in opened) return { kind: 'missing' };
  if ('unreadable' in opened) return { kind: 'unreadable', code: opened.unreadable };
  try {
    return await readView(opened, context, options);
  } catch (error) {
    return failureOf(error);
  } finally {
    await opened.close();
  }
};

const readView = async (
  view: TranscriptView,
  context: ReadContext,
  options: BackwardsOptions,
): Promise<ReadOutcome | 'shrunk'> => {
  const reducer = createReducer(context);
  const counter = { skippedLines: 0 };
  const result = await readBackwards(
    view,
    options,
    (line) => take(line, reducer, context, counter),
    (offset) => reducer.isEnough(offset),
  );
  if (result.end === 'short') return 'shrunk';
  if (result.blocks > 1 && (await view.isIntact?.()) === false) return 'shrunk';
  return outcomeOf(result, reducer, view, counter.skippedLines);
};

const take = (
  line: Parameters<Parameters<typeof readBackwards>[2]>[0],
  reducer: Reducer,
  context: ReadContext,
  counter: { skippedLines: number },
): void => {
  const { entries, skipped } =
    line.kind === 'whole'
      ? parseLine(line.bytes, line.offset, context)
      : parseLongLine(line.head, line.tail, line.offset, context);
  if (skipped) counter.skippedLines += 1;
  for (const entry of entries.toReversed()) reducer.add(entry);
};

const outcomeOf = (
  result: BackwardsResult,
  reducer: Reducer,
  view: TranscriptView,
  skippedLines: number,
): ReadOutcome => {
  const { bytesRead } = result;
  if (result.end === 'start') reducer.atStart();
  if (!reducer.decided) {
    return { kind: 'undetermined', why: 'scan-limit', bytesRead, skippedLines, file: view.mark };
  }
  return { kind: 'read', finding: reducer.finding(), file: view.mark, bytesRead, skippedLines };
};

/** A file that went away while it was read is missing; any other system error names itself. */
const failureOf = (error: unknown): ReadOutcome => {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (code === undefined) throw error;
  return code === 'ENOENT' || code === 'ESTALE' ? { kind: 'missing' } : { kind: 'unreadable', code };
};
