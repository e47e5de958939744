import { randomUUID } from 'node:crypto';
import type { JobData } from '#shared/queue/jobs.js';
import { planBackstop, planEvaluation, workOf } from '#shared/queue/plan.js';
import { nextStepMs } from '#shared/session/steps.js';
import type { DueSession } from '#shared/session/store.js';
import type { WorkerParts } from './parts.ts';

const BATCH = 200;
/** A worker that dies with what it took is replaced within 15 s; by then it is due again. */
const HOLD_MS = 10_000;
/** A watcher that is alive takes a step within a second or two. */
const OVERDUE_MS = 2_000;
/** A watcher holds what it takes for 30 s: what it has not done by then is overdue at this moment. */
const ONCE_MORE_MS = 33_000;

/**
 * Sees to the steps of armed sessions that no watcher has taken: each gets an evaluation of its own. With every watcher dead
 * the workers so carry the watches on by themselves, step after step; with one alive there is nothing to do here.
 *
 * Resolves with how many there were. Throws the connection's error when Redis is away; begun anew, it does what is left.
 */
export async function backstop(parts: WorkerParts, { first }: Pick<JobData<'backstop'>, 'first'>): Promise<number> {
  let taken = 0;
  for (;;) {
    const due = await parts.store.takeDue(BATCH, HOLD_MS, OVERDUE_MS);
    if (due.length > 0) await lookAtAll(parts, due);
    taken += due.length;
    if (due.length < BATCH) break;
  }
  await planNext(parts, { first, taken });
  return taken;
}

async function lookAtAll(parts: WorkerParts, due: readonly DueSession[]): Promise<void> {
  const { store, queue, settings } = parts;
  const nowMs = await store.now();
  const isOver = ({ armedMs }: DueSession): boolean => nowMs - armedMs >= settings.watchMaxAgeMs;
  for (const { sessionId } of due.filter(isOver)) await store.endWatch(sessionId, 'watch-too-old');
  const watched = due.filter((session) => !isOver(session));
  await queue.addMany(
    watched.map((session) =>
      planEvaluation(workOf(session, `backstop-${session.sessionId}-${nowMs}`), 'sweep', undefined, {
        dueMs: nowMs,
        nowMs,
      }),
    ),
  );
  await store.reschedule(
    watched.map(({ sessionId, generation, armedMs }) => ({
      sessionId,
      generation,
      atMs: nextStepMs(armedMs, nowMs, settings.watchMaxAgeMs),
    })),
  );
}

/** Where nobody else takes the steps, the next one is a worker's as well. */
async function planNext(
  { store, queue }: WorkerParts,
  { first, taken }: { first: boolean; taken: number },
): Promise<void> {
  const nextMs = taken > 0 ? await store.nextStepMs() : undefined;
  if (nextMs === undefined && !first) return;
  const nowMs = await store.now();
  const dueMs = nextMs === undefined ? nowMs + ONCE_MORE_MS : Math.max(nextMs, nowMs) + OVERDUE_MS + 1_000;
  const job = planBackstop(randomUUID(), false, { dueMs, nowMs });
  await queue.add(job.name, job.data, job.options);
}
