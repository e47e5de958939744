import { planNoticeEvaluation, planNoticeLimbo } from './plan.ts';
import type { SweepParts } from './sweep.ts';

/** Whose settings changed; both undefined: the instance's, so possibly everybody's. */
export interface Change {
  serverId: string | undefined;
  slug: string | undefined;
}

/**
 * Recovery settings changed on disk or through the API: workers get the new ones, and sessions of the affected projects
 * whose notice already stands are evaluated under them (SPEC §3). Throws the connection's error when Redis is away.
 */
export async function settingsChanged({ core, transcripts, published }: SweepParts, change: Change): Promise<void> {
  await published.again(change);
  const standing = transcripts
    .all()
    .filter(
      (session) =>
        session.standing !== undefined &&
        (change.serverId === undefined || change.serverId === session.server.id) &&
        (change.slug === undefined || change.slug === session.project),
    );
  if (standing.length === 0) return;
  const nowMs = await core.store.now();
  for (const session of standing) {
    if (session.standing === undefined) continue;
    const { values: settings } = await core.recovery.effective(session.server, session.project);
    const plan = { standing: session.standing, settings, nowMs };
    await planNoticeEvaluation(core, session, 'settings', plan);
    await planNoticeLimbo(core, session, plan);
  }
}
