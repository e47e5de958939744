import { planEvaluation, workOf } from '#shared/queue/plan.js';
import { nextStepMs } from '#shared/session/steps.js';
import type { DueSession } from '#shared/session/store.js';
import type { WorkerParts } from './parts.ts';

const BATCH = 200;
/** A worker that dies with what it took is not waited for longer. */
const HOLD_MS = 10_000;

/**
 * Sees to the steps of armed sessions that have been due for `overdueMs`, because no watcher has taken them: each gets an
 * evaluation of its own, and its next step. With a watcher alive there is nothing to do here.
 *
 * Resolves with how many there were. Throws the connection's error when Redis is away; what was taken then is due again
 * after a moment.
 */
export async function backstop(parts: WorkerParts, overdueMs: number): Promise<number> {
  let taken = 0;
  for (;;) {
    const due = await parts.store.takeDue(BATCH, HOLD_MS, overdueMs);
    if (due.length > 0) await lookAtAll(parts, due);
    taken += due.length;
    if (due.length < BATCH) return taken;
  }
}

async function lookAtAll({ store, queue, settings }: WorkerParts, due: readonly DueSession[]): Promise<void> {
  const nowMs = await store.now();
  const isOver = ({ armedMs }: DueSession): boolean => nowMs - armedMs >= settings.watchMaxAgeMs;
  for (const { sessionId } of due.filter(isOver)) await store.endWatch(sessionId, 'watch-too-old');
  const watched = due.filter((session) => !isOver(session));
  await queue.addMany(
    watched.map((session) => {
      const work = workOf(session, `backstop-${session.sessionId}-${nowMs}`);
      return planEvaluation(work, 'sweep', session.noticeId, { dueMs: nowMs, nowMs });
    }),
  );
  await store.reschedule(
    watched.map(({ sessionId, generation, armedMs }) => ({
      sessionId,
      generation,
      atMs: nextStepMs(armedMs, nowMs, settings.watchMaxAgeMs),
    })),
  );
}
