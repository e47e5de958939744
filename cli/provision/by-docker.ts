import type { Way } from './found.ts';

const DEFAULT_IMAGE = 'redis:7-alpine';
const DAEMON_ANSWERS_WITHIN_MS = 5_000;
const PULL_WITHIN_MS = 120_000;

/** A Docker daemon that answers, with the image (`REDIS_IMAGE`) there or to be had. */
export const byDocker: Way = {
  advice: 'start Docker',
  async find({ env, run, say }) {
    const image = redisImage(env);
    const daemon = await run('docker', ['version', '--format', '{{.Server.Version}}'], {
      timeoutMs: DAEMON_ANSWERS_WITHIN_MS,
    });
    if (daemon.code !== 0) return daemon.code === 127 ? 'docker is not installed' : 'no Docker daemon answers';
    const inspected = await run('docker', ['image', 'inspect', image], { timeoutMs: DAEMON_ANSWERS_WITHIN_MS });
    if (inspected.code === 0) return { kind: 'docker', image };
    say(`Pulling the image ${image}; this can take a minute.`);
    const pulled = await run('docker', ['pull', image], { timeoutMs: PULL_WITHIN_MS });
    return pulled.code === 0 ? { kind: 'docker', image } : `Docker cannot get the image ${image}`;
  },
};

/** The image that stands for Redis; `REDIS_IMAGE` replaces it where there is no public registry. */
export function redisImage(env: NodeJS.ProcessEnv): string {
  const image = env['REDIS_IMAGE'];
  return image === undefined || image === '' ? DEFAULT_IMAGE : image;
}
