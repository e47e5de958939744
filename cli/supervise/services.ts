import { setTimeout as sleep } from 'node:timers/promises';
import { spawnChild, type ChildSpec, type Running } from './child.ts';

const UP_WITHIN_MS = 30_000;
const LOOK_EVERY_MS = 50;
/** A process without an address: one that lives this long is taken for up, where its log does not say so earlier. */
const TAKEN_FOR_UP_MS = 3_000;

/** Starts a service and waits until `url` answers with 2xx. Rejects where it ends before or stays silent. */
export async function startHttpService(spec: ChildSpec, url: string): Promise<Running> {
  const child = spawnChild(spec);
  const watch = endOf(child);
  const deadline = performance.now() + UP_WITHIN_MS;
  while (!(await answers(url))) {
    if (watch.how !== undefined) throw new Error(`${spec.name} ended before it was up (${watch.how}).`);
    if (performance.now() > deadline) {
      await child.stop();
      throw new Error(`${spec.name} did not answer at ${url} within ${UP_WITHIN_MS / 1_000} s.`);
    }
    await sleep(LOOK_EVERY_MS);
  }
  return child;
}

/** Starts a service that has no address and waits until its log says that it is ready. Rejects where it ends before. */
export async function startPlainService(spec: ChildSpec): Promise<Running> {
  const up = new AbortController();
  const child = spawnChild({
    ...spec,
    onLine: (line, name) => {
      spec.onLine(line, name);
      if (/\bready\b/i.test(line)) up.abort();
    },
  });
  const watch = endOf(child);
  const wait = sleep(TAKEN_FOR_UP_MS, undefined, { signal: up.signal }).catch(() => undefined);
  await Promise.race([wait, child.ended]);
  up.abort();
  if (watch.how !== undefined) throw new Error(`${spec.name} ended before it was up (${watch.how}).`);
  return child;
}

function endOf(child: Running): { how: string | undefined } {
  const watch: { how: string | undefined } = { how: undefined };
  void child.ended.then((how) => {
    watch.how = how;
    return how;
  });
  return watch;
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
