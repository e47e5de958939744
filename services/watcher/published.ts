import type { EffectiveSettings } from '#shared/settings/recovery.js';
import type { ChatServer } from '#shared/settings/environment.js';
import type { WatcherCore } from './ports.ts';

/**
 * Publishes the effective settings of projects to Redis, where workers take them from. The store leaves out what it wrote
 * a moment ago, so a turn end costs no call for it.
 */
export interface Published {
  /** Resolves a project's settings and publishes them. Throws when Redis is away. */
  project(server: ChatServer, slug: string): Promise<EffectiveSettings>;
  /** The same for every project known to this process that matches. */
  again(match?: { serverId?: string | undefined; slug?: string | undefined }): Promise<void>;
}

export function createPublished(core: Pick<WatcherCore, 'recovery' | 'store'>): Published {
  const known = new Map<string, { server: ChatServer; slug: string }>();

  async function project(server: ChatServer, slug: string): Promise<EffectiveSettings> {
    const key = `${server.id} ${slug}`;
    if (!known.has(key)) known.set(key, { server, slug });
    const effective = await core.recovery.effective(server, slug);
    await core.store.publishSettings(server.id, slug, effective);
    return effective;
  }

  return {
    project,
    async again(match = {}) {
      for (const { server, slug } of known.values()) {
        if (match.serverId !== undefined && match.serverId !== server.id) continue;
        if (match.slug !== undefined && match.slug !== slug) continue;
        await project(server, slug);
      }
    },
  };
}
