import type { Clocks, Finding, Judgement } from './finding.ts';

/**
 * Adds the clocks to a finding (SPEC §5): a hung signature must have stood for the debounce since its newest notice was
 * first seen, and a wake that may be under way is given its grace. Pure: the clock comes in as a value.
 */
export const judge = (finding: Finding, clocks: Clocks): Judgement => {
  const { tasks, noticeId, evidence, observations } = finding;
  const common = { tasks, noticeId, evidence, observations };
  if (finding.kind === 'settled') {
    const { verdict, reason, errorClass } = finding;
    return { ...common, verdict, reason, errorClass, recheckAtMs: undefined };
  }
  const { nowMs } = clocks;
  const noticeDueMs = (clocks.noticeSeenMs ?? nowMs) + clocks.debounceMs;
  const wakeDueMs =
    finding.wakeKey === undefined ? Number.NEGATIVE_INFINITY : (clocks.wakeSeenMs ?? nowMs) + clocks.wakeGraceMs;
  const dueMs = Math.max(noticeDueMs, wakeDueMs);
  if (nowMs >= dueMs) {
    return { ...common, verdict: 'hung', reason: finding.reason, errorClass: undefined, recheckAtMs: undefined };
  }
  const reason = nowMs < wakeDueMs ? 'wake-grace' : 'debounce';
  return { ...common, verdict: 'busy-or-waiting', reason, errorClass: undefined, recheckAtMs: dueMs };
};
