import { createHash } from 'node:crypto';
import type { SessionRecord } from './record.ts';

/**
 * The id of an attempt, which is also its idempotency key: derived, never random, so that whoever repeats the attempt, after
 * whatever crash or failover, sends the same key (SPEC §4.5). `claimNudge.lua` derives it the same way.
 */
export function attemptId(parts: {
  server: string;
  sessionId: string;
  noticeId: string;
  kind: 'auto' | 'manual';
  try: number;
  refusals: number;
}): string {
  const seed = [parts.server, parts.sessionId, parts.noticeId, parts.kind, parts.try, parts.refusals].join('\n');
  return createHash('sha1').update(seed).digest('hex');
}

/** The id that the next manual Continue of this session will have; two clicks on one notice share it. */
export function manualAttemptId(record: SessionRecord): string {
  return attemptId({
    server: record.server,
    sessionId: record.sessionId,
    noticeId: record.notice?.id ?? 'none',
    kind: 'manual',
    try: record.manuals + 1,
    refusals: 0,
  });
}
