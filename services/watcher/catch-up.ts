import type { DueSession } from '#shared/session/store.js';
import { createLimiter } from './limiter.ts';
import { adopt, lookAgain, oneOf, type SweepParts } from './sweep.ts';

const PAGE = 500;
const CONCURRENT_LOOKS = 8;

/** Recoveries that were under way when everything stopped come before new ones (SPEC §8). */
const UNDER_WAY: ReadonlySet<string> = new Set(['nudging', 'nudged', 'unconfirmed']);

/**
 * Looks at every armed session once, after a start or an outage: what happened to its transcript meanwhile is seen now
 * and its file is watched again. Sessions whose recovery was under way come first.
 *
 * Throws the connection's error when Redis is away; starting over does no harm. Resolves with how many were looked at.
 */
export async function catchUp(parts: SweepParts, signal: AbortSignal): Promise<number> {
  const sessions = await allArmed(parts);
  const first = sessions.filter((session) => UNDER_WAY.has(session.state));
  const rest = sessions.filter((session) => !UNDER_WAY.has(session.state));
  const nowMs = await parts.core.store.now();
  for (const group of [first, rest]) await lookAtAll(parts, group, nowMs, signal);
  parts.core.log.info({ sessions: sessions.length }, 'Caught up with the armed sessions.');
  return sessions.length;
}

async function allArmed(parts: SweepParts): Promise<DueSession[]> {
  const sessions: DueSession[] = [];
  let cursor: string | undefined;
  do {
    const page = await parts.core.store.armedSessions(cursor, PAGE);
    sessions.push(...page.sessions);
    cursor = page.next;
  } while (cursor !== undefined);
  return sessions;
}

async function lookAtAll(parts: SweepParts, group: DueSession[], nowMs: number, signal: AbortSignal): Promise<void> {
  const limit = createLimiter(CONCURRENT_LOOKS);
  await Promise.all(
    group.map((due) =>
      limit(async () => {
        if (signal.aborted) return;
        await oneOf(parts, 'catch-up', due, async () => {
          const session = adopt(parts, due, `start-${due.sessionId}-${nowMs}`);
          if (session !== undefined) await lookAgain(parts, session, 'start', nowMs);
        });
      }),
    ),
  );
}
