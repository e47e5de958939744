import type { JobData } from '#shared/queue/jobs.js';
import { done, type Next } from './next.ts';
import type { WorkerParts } from './parts.ts';
import { knowledgeOf, readTranscript } from './reading.ts';

/**
 * `limboTimeoutMs` of silence after a killed task: the session is surfaced as stuck. Only shows; a nudge is another job's
 * affair. A longer timeout set meanwhile voids this job (its own was planned), `0` all of them.
 */
export async function limbo(parts: WorkerParts, job: JobData<'limbo'>): Promise<Next> {
  const { record, settings } = await parts.store.context(job.sessionId);
  if (record === undefined) return done('session-unknown');
  if (record.notice?.id !== job.noticeId || !record.armed || record.state === 'recovered') return done('verdict-clear');
  if (settings?.values.limboTimeoutMs !== job.limboTimeoutMs) return done('superseded');
  const outcome = await readTranscript(parts, job, knowledgeOf(record));
  const isSilent =
    outcome.kind === 'read' && outcome.finding.kind === 'pending' && outcome.finding.noticeId === job.noticeId;
  if (!isSilent) return done('verdict-clear');
  await parts.store.show(job.sessionId, {
    generation: record.generation,
    state: 'stuck',
    reason: 'limbo',
    kind: 'stuck',
    detail: { silentMs: job.limboTimeoutMs },
  });
  return done('limbo');
}
