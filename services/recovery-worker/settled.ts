import { backoffMs } from '#shared/session-api/backoff.js';
import { clearedNotice } from '#shared/session/cleared.js';
import type { SessionRecord } from '#shared/session/record.js';
import type { Finding, ReadOutcome } from '#shared/transcript/finding.js';
import { again, done, type Next } from './next.ts';
import type { WorkerParts } from './parts.ts';

type Settled = Extract<Finding, { kind: 'settled' }>;

/** The transcript says by itself that there is nothing to nudge now: the record follows it. */
export async function settled(parts: WorkerParts, record: SessionRecord, finding: Settled): Promise<Next> {
  const { sessionId, generation } = record;
  if (finding.verdict === 'busy-or-waiting') return busy(parts, record, finding);
  if (finding.verdict === 'error-entry') {
    await parts.store.show(sessionId, {
      generation,
      state: 'error',
      reason: 'verdict-error',
      kind: 'error-entry',
      detail: { class: finding.errorClass ?? 'other', verdict: finding.reason },
    });
    return done('verdict-error');
  }
  const result = await parts.store.cleared(sessionId, clearedNotice(finding, generation));
  if (result === 'recovered') await observeReply(parts, sessionId);
  return done('verdict-clear');
}

/** A nudge that stands in the transcript has arrived, whatever its call said. */
async function busy(parts: WorkerParts, record: SessionRecord, finding: Settled): Promise<Next> {
  const { attempt, sessionId } = record;
  if (finding.reason === 'nudge-pending' && attempt?.phase === 'sending' && attempt.noticeId === finding.noticeId) {
    const ref = { sessionId, attemptId: attempt.id, owner: attempt.owner ?? '' };
    await parts.store.settleNudge(ref, { outcome: 'accepted', detail: 'seen in the transcript' });
    parts.metrics.nudges.inc({ kind: attempt.kind, outcome: 'accepted' });
  }
  return done('verdict-busy');
}

/** The change that made it recovered stands in the record with its own time. */
async function observeReply(parts: WorkerParts, sessionId: string): Promise<void> {
  const record = await parts.store.find(sessionId);
  const sentMs = record?.attempt?.sentMs;
  if (record === undefined || sentMs === undefined) return;
  parts.metrics.nudgeToReplySeconds.observe(Math.max(0, record.updatedMs - sentMs) / 1000);
}

/**
 * No verdict could be reached: shown or noted, never a nudge. The backstop looks again; where the transcript comes over the
 * network, the same job does, since what failed there is most likely the moment's.
 */
export async function unread(
  parts: WorkerParts,
  record: SessionRecord,
  outcome: Exclude<ReadOutcome, { kind: 'read' }>,
  { failures }: { failures: number },
): Promise<Next> {
  const { sessionId, generation } = record;
  if (outcome.kind === 'missing') {
    await parts.store.show(sessionId, {
      generation,
      state: 'transcript-missing',
      reason: 'transcript-missing',
      kind: 'transcript-missing',
    });
    return done('transcript-missing');
  }
  const reason = outcome.kind === 'undetermined' ? 'transcript-undetermined' : 'transcript-unreadable';
  const detail = outcome.kind === 'undetermined' ? { bytesRead: outcome.bytesRead } : { code: outcome.code };
  await parts.store.note(sessionId, { kind: 'deferred', reason, detail }, `${reason}:g${generation}`);
  if (outcome.kind === 'undetermined' || parts.settings.transcriptSource === 'file') return done(reason);
  const waitMs = backoffMs(failures + 1, parts.random());
  return again(reason, (await parts.store.now()) + waitMs, { failures: failures + 1 });
}
