import { readFinding } from '#shared/transcript/tail.js';
import type { Finding, ReadOutcome } from '#shared/transcript/finding.js';
import type { WorkerParts } from './parts.ts';

/** What a job reads. */
export interface ReadWork {
  sessionId: string;
  server: string;
  path: string;
}

/** Reads the session's transcript; where the file has moved, looks its id up again under the allowed roots, once. */
export async function readTranscript(
  parts: WorkerParts,
  work: ReadWork,
  answeredTaskIds: ReadonlySet<string> = new Set(),
): Promise<ReadOutcome> {
  const read = (path: string) =>
    readFinding(parts.transcripts, path, {
      sessionId: work.sessionId,
      answeredTaskIds,
      senderLabels: [parts.settings.nudgeLabel],
      scanLimitBytes: parts.settings.scanLimitBytes,
    });
  const outcome = await read(work.path);
  if (outcome.kind !== 'missing') return outcome;
  const moved = await parts.locate(work.server, work.sessionId);
  return moved === undefined || moved === work.path ? outcome : read(moved);
}

/** True where the record knows a task of this finding as answered: then the file is to be read again with that knowledge. */
export function isAnsweredBefore(finding: Finding, answered: readonly string[]): boolean {
  return answered.length > 0 && finding.tasks.some((task) => answered.includes(task.id));
}
