import { describe, expect, it } from 'vitest';
import type { SessionRecord } from '#shared/session/record.js';
import type { Finding } from '#shared/transcript/finding.js';
import { isFree, judgeFound } from '../../../services/watcher/discovery/judge.ts';

const facts = { evidence: [], answeredTaskIds: [], nudgesSinceHuman: 0, lastHuman: undefined, observations: [] };
const settled = (verdict: 'not-hung' | 'busy-or-waiting' | 'error-entry', nudgesSinceHuman = 0): Finding => ({
  ...facts,
  nudgesSinceHuman,
  kind: 'settled',
  verdict,
  reason: 'no-notification',
  tasks: [],
  noticeId: undefined,
  errorClass: undefined,
});
const hung: Finding = {
  ...facts,
  kind: 'pending',
  reason: 'killed-unanswered',
  tasks: [],
  noticeId: 'n',
  noticeKey: 'k',
  wakeKey: undefined,
  noticeStampMs: 1_000,
  wakeStampMs: undefined,
};
const record = (fields: Partial<SessionRecord>): SessionRecord =>
  ({ source: 'discovery', armed: true, released: false, turnEndedEventMs: 500, ...fields }) as SessionRecord;

describe('a chat that was found by its file', () => {
  it.each([
    ['a finished turn', settled('not-hung'), undefined, undefined, 'watch false human'],
    ['a running turn', settled('busy-or-waiting'), undefined, undefined, 'leave'],
    ['a turn that failed', settled('error-entry'), undefined, undefined, 'watch false human'],
    ['the end of a nudged turn', settled('not-hung', 1), undefined, undefined, 'watch false recovery'],
    ['hung, in the first round', hung, undefined, undefined, 'watch true human'],
    ['hung since before the last round', hung, undefined, 1_001, 'watch true human'],
    ['hung since the last round', hung, undefined, 1_000, 'watch false human'],
    ['hung, of a session that was known', hung, record({ armed: false }), undefined, 'watch false human'],
    ['hung, and watched', hung, record({}), 900, 'leave'],
  ])('%s', (_what, finding, known, watchingSinceMs, expected) => {
    const found = judgeFound({ finding, record: known, watchingSinceMs });
    expect(found.do === 'leave' ? 'leave' : `watch ${found.foundHung} ${found.cause}`).toBe(expected);
  });

  it.each([
    ['watched, and written since', record({}), 'discovery', 501, true],
    ['watched, and not written since', record({}), 'discovery', 500, false],
    ['a webhook’s', record({ source: 'webhook' }), 'discovery', 501, false],
    ['a hook’s', record({ source: 'hook' }), 'discovery', 501, false],
    ['a hook’s, whose turn’s end was lost', record({ source: 'hook' }), 'hook', 501, true],
    [
      'ended by an operator',
      record({ armed: false, released: true, stateReason: 'watch-ended' }),
      'discovery',
      501,
      false,
    ],
    [
      'ended by its age',
      record({ armed: false, released: true, stateReason: 'watch-too-old' }),
      'discovery',
      501,
      true,
    ],
  ] as const)('%s', (_what, known, source, writtenMs, free) => expect(isFree(known, source, writtenMs)).toBe(free));
});
