import type { StartedRedisContainer } from '@testcontainers/redis';
import { redisImage } from '../../cli/provision/by-docker.ts';
import type { Way } from '../../cli/provision/found.ts';

const started: StartedRedisContainer[] = [];

/** A container, where a Docker daemon answers and the image (`REDIS_IMAGE`) can be had. */
export const byTestcontainers: Way = {
  advice: 'start Docker',
  async find({ env, run }) {
    const daemon = await run('docker', ['version', '--format', '{{.Server.Version}}'], { timeoutMs: 5_000 });
    if (daemon.code !== 0) return 'no Docker daemon answers';
    // Loaded only here: the library costs most of a second, and most machines never come this way.
    const { RedisContainer } = await import('@testcontainers/redis');
    const image = redisImage(env);
    try {
      const container = await new RedisContainer(image).start();
      started.push(container);
      return { kind: 'url', url: container.getConnectionUrl() };
    } catch (error) {
      return `Docker cannot start ${image} (${error instanceof Error ? error.message : String(error)})`;
    }
  },
};

/** Ends what was started here. */
export async function stopContainers(): Promise<void> {
  await Promise.all(started.splice(0).map((container) => container.stop()));
}
