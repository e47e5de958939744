import { createHash } from 'node:crypto';

/**
 * Every Redis key of the session room, spelled in this one file.
 *
 * All carry one hash tag, so that one script may touch a session, the pause flag, the budget, the armed index and the trail
 * on Redis Cluster too (a script over two tags is CROSSSLOT). More than one slot's worth of work is more deployments.
 */
export interface SessionKeys {
  session(id: string): string;
  sessionPrefix: string;
  sessionTrail(id: string): string;
  once(id: string): string;
  mark(server: string, deliveryId: string): string;
  trail: string;
  armed: string;
  sessions: string;
  pause: string;
  hour: string;
  slots: string;
  streak: string;
  settings: string;
  unwatched: string;
}

/** @param tag what stands between the braces, e.g. `chat-recovery` */
export function sessionKeys(tag: string): SessionKeys {
  const root = `{${tag}}`;
  return {
    session: (id) => `${root}:s:${id}`,
    sessionPrefix: `${root}:s:`,
    sessionTrail: (id) => `${root}:t:${id}`,
    once: (id) => `${root}:o:${id}`,
    // Hashed: a delivery id is outside text of any length.
    mark: (server, deliveryId) =>
      `${root}:d:${createHash('sha1').update(`${server}\n${deliveryId}`).digest('base64url')}`,
    trail: `${root}:trail`,
    armed: `${root}:armed`,
    sessions: `${root}:sessions`,
    pause: `${root}:pause`,
    hour: `${root}:sent`,
    slots: `${root}:slots`,
    streak: `${root}:streak`,
    settings: `${root}:settings`,
    unwatched: `${root}:unwatched`,
  };
}

/** Field of the settings hash for one project of one server. */
export function settingsField(server: string, project: string): string {
  return `${server}\n${project}`;
}
