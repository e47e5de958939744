import type { Finding } from '#shared/transcript/finding.js';
import type { ClearedNotice } from './store.ts';

/** What a transcript that is not hung any more tells the record. */
export function clearedNotice(finding: Finding, generation: number): ClearedNotice {
  return {
    generation,
    answeredTaskIds: finding.answeredTaskIds,
    replied: finding.reason === 'answered' || finding.reason === 'already-answered',
    nudgeSeen: finding.nudgesSinceHuman > 0,
    verdict: finding.reason,
  };
}
