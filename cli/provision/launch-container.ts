import type { RedisFound } from './found.ts';
import { serverArguments, type LaunchOptions, type RunningRedis } from './running.ts';

const STEP_WITHIN_MS = 60_000;

/** Starts the image on a free loopback port. The container removes itself when it stops. */
export async function launchContainer(
  { image }: Extract<RedisFound, { kind: 'docker' }>,
  { dir, durable, port, run }: LaunchOptions,
): Promise<RunningRedis> {
  const args = ['run', '--detach', '--rm', '--publish', `127.0.0.1:${port ?? ''}:6379`];
  const volume = durable ? ['--volume', `${dir}:/data`] : [];
  const command = ['redis-server', '--dir', durable ? '/data' : '/tmp', ...serverArguments(durable)];
  const started = await run('docker', [...args, ...volume, image, ...command], { timeoutMs: STEP_WITHIN_MS });
  const id = started.stdout.trim();
  if (started.code !== 0 || id === '') throw new Error(`The image ${image} did not start: ${started.stderr.trim()}`);

  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await run('docker', ['stop', '--time', '5', id], { timeoutMs: STEP_WITHIN_MS });
  };
  const bound = await run('docker', ['port', id, '6379/tcp'], { timeoutMs: STEP_WITHIN_MS });
  const address = bound.stdout.split('\n')[0]?.trim();
  if (bound.code !== 0 || address === undefined || address === '') {
    await stop();
    throw new Error(`The image ${image} opened no port: ${bound.stderr.trim()}`);
  }
  return {
    url: `redis://${address}`,
    description: `${image} (container ${id.slice(0, 12)})`,
    pid: undefined,
    ended: run('docker', ['wait', id], { timeoutMs: 0 }).then(() => undefined),
    stop: () => (stopping ??= stop()),
  };
}
