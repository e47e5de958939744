import { readFinding } from '#shared/transcript/tail.js';
import type { FileMark, Finding, ReadOutcome } from '#shared/transcript/finding.js';
import type { SessionRecord } from '#shared/session/record.js';
import type { SessionPlace } from '#shared/session-api/driver.js';
import type { WorkerParts } from './parts.ts';

/** What a job reads. */
export interface ReadWork {
  sessionId: string;
  server: string;
  path: string;
}

/** What the session's record adds to a read. */
export interface ReadKnowledge {
  answeredTaskIds: ReadonlySet<string>;
  /** `whole`: the record has no counter of its own, so the nudges since the last human prompt are to be counted. */
  history: 'near' | 'whole';
}

const NOTHING_KNOWN: ReadKnowledge = { answeredTaskIds: new Set(), history: 'near' };

/** Reads the session's transcript; where the file has moved, looks its id up again under the allowed roots, once. */
export async function readTranscript(
  parts: WorkerParts,
  work: ReadWork,
  knowledge: ReadKnowledge = NOTHING_KNOWN,
): Promise<ReadOutcome> {
  const source = parts.transcripts(work);
  const read = (path: string) =>
    readFinding(source, path, {
      sessionId: work.sessionId,
      senderLabels: [parts.settings.nudgeLabel],
      scanLimitBytes: parts.settings.scanLimitBytes,
      ...knowledge,
    });
  const outcome = await read(work.path);
  if (outcome.kind !== 'missing') return outcome;
  const moved = await movedTo(parts, work);
  return moved === undefined ? outcome : read(moved);
}

async function movedTo(parts: WorkerParts, { server, sessionId, path }: ReadWork): Promise<string | undefined> {
  const found = await parts.locate(server, sessionId);
  return found === path ? undefined : found;
}

/** Whether the transcript still is what `mark` says: nobody has written since it was read. */
export async function isUnchanged(parts: WorkerParts, work: ReadWork, mark: FileMark): Promise<boolean> {
  const now = await markOf(parts, work, work.path);
  if (now !== undefined) return isSame(now, mark);
  const moved = await movedTo(parts, work);
  const there = moved === undefined ? undefined : await markOf(parts, work, moved);
  return there !== undefined && isSame(there, mark);
}

async function markOf(parts: WorkerParts, work: ReadWork, path: string): Promise<FileMark | undefined> {
  const view = await parts.transcripts(work).open(path);
  if (!('mark' in view)) return undefined;
  await view.close();
  return view.mark;
}

function isSame(a: FileMark, b: FileMark): boolean {
  return a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs;
}

/** Where a session is, as its record and the job know it. */
export function placeOf({ project, path }: SessionRecord, jobPath: string): SessionPlace {
  return { project, transcriptPath: path ?? jobPath };
}

/** What a record knows that changes how its transcript reads. */
export function knowledgeOf({ answeredTaskIds, tries }: SessionRecord): ReadKnowledge {
  return { answeredTaskIds: new Set(answeredTaskIds), history: tries === undefined ? 'whole' : 'near' };
}

/** Whether a first read without that knowledge has to be done again with it. */
export function mustReadAgain(finding: Finding, { answeredTaskIds, history }: ReadKnowledge): boolean {
  if (finding.kind === 'pending' && history === 'whole') return true;
  return finding.tasks.some((task) => answeredTaskIds.has(task.id));
}
