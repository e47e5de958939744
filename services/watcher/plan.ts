import { planEvaluation, planLimbo, planNotice, type WorkOf } from '#shared/queue/plan.js';
import type { RecoverySettings } from '#shared/settings/recovery.js';
import type { WatcherCore } from './ports.ts';
import type { Standing, WatchedSession } from './watched.ts';

/** A standing notice and the settings under which its work is planned; `nowMs` is Redis time. */
export interface NoticePlan {
  standing: Standing;
  settings: RecoverySettings;
  nowMs: number;
}

/**
 * Puts the evaluation of a standing notice on the queue, due once the notice has stood for the debounce and a wake under way
 * for its grace. Nothing where Layer 3 may not act, but at a step of the sweep: its evaluation tells why nothing is done.
 *
 * `why` `notice`: the notice was read just now. Where its due moment is past already, its own job may have run and its id be
 * taken, so the evaluation gets another.
 */
export async function planNoticeEvaluation(
  core: WatcherCore,
  session: WatchedSession,
  why: 'notice' | 'sweep' | 'settings' | 'start',
  { standing, settings, nowMs }: NoticePlan,
): Promise<void> {
  const mayNudge = settings.autoReDrive && session.auto;
  if (!mayNudge && why !== 'sweep') return;
  const work = workOfSession(session);
  const debounced = standing.noticeSeenMs + settings.debounceMs;
  const graced = standing.wakeSeenMs === undefined ? 0 : standing.wakeSeenMs + core.settings.wakeGraceMs;
  const dueMs = Math.max(debounced, graced, nowMs);
  const job =
    why === 'notice' && dueMs === debounced && debounced > nowMs
      ? planNotice(work, { ...standing, nowMs }, settings.debounceMs)
      : planEvaluation(work, why === 'notice' ? 'clock' : why, standing.noticeId, { dueMs, nowMs });
  await core.queue.add(job.name, job.data, job.options);
  core.count('evaluations_planned_total', { why: job.data.why });
}

/** Puts the moment on the queue at which silence after the notice makes it *stuck*; the same notice and time-out: the same job. */
export async function planNoticeLimbo(
  core: WatcherCore,
  session: WatchedSession,
  { standing, settings, nowMs }: NoticePlan,
): Promise<void> {
  if (settings.limboTimeoutMs === 0) return;
  const job = planLimbo(workOfSession(session), { ...standing, nowMs }, settings.limboTimeoutMs);
  await core.queue.add(job.name, job.data, job.options);
}

/** What a job must know of its session. */
export function workOfSession(session: WatchedSession): WorkOf {
  const { sessionId, server, project, generation, path, cid } = session;
  return { sessionId, server: server.id, project, generation, path, cid };
}
