import type { JobData } from '#shared/queue/jobs.js';
import type { EvaluationContext } from '#shared/session/store.js';
import type { ReadOutcome } from '#shared/transcript/finding.js';
import { done, type Next } from './next.ts';
import type { WorkerParts } from './parts.ts';
import { settled } from './settled.ts';

/**
 * `NUDGE_CONFIRM_MS` after an accepted nudge: did it bring an entry? Without one it is shown as unconfirmed, never repeated
 * by itself (report R33). A turn that has started or ended since has raised the generation: then it had an effect.
 */
export async function confirm(
  parts: WorkerParts,
  job: JobData<'evaluate'>,
  { record }: EvaluationContext,
  outcome: ReadOutcome,
): Promise<Next> {
  const attempt = record?.attempt;
  if (record?.state !== 'nudged' || attempt === undefined || attempt.id !== job.attemptId) return done('confirmed');
  if (outcome.kind === 'read' && outcome.finding.kind === 'settled') return settled(parts, record, outcome.finding);
  const isSameHang = outcome.kind === 'read' && outcome.finding.noticeId === job.noticeId;
  if (!isSameHang || record.generation !== job.generation) return done('confirmed');
  await parts.store.unconfirmed(job.sessionId, attempt.id);
  return done('no-effect');
}
