import type { Metrics } from '#shared/platform/metrics.js';
import type { SessionStore } from '#shared/session/store.js';
import { notice, type Notice } from './types.ts';

/** What is looked at now and then, whether or not anybody is told. */
export interface ConditionParts {
  sessionApis: readonly { serverId: string; probe: (signal: AbortSignal) => Promise<void> }[];
  /** Workers that are alive. Throws where Redis is away: then nothing can be said of them. */
  workersAlive: () => Promise<number>;
  store: Pick<SessionStore, 'paused'>;
  metrics: Pick<Metrics, 'sessionApiUp' | 'paused'>;
}

/** A condition that is bad, or is over. */
export interface Condition {
  episode: string;
  /** `undefined`: all is well, and the next time is another episode. */
  bad: Notice | undefined;
}

const PROBE_DEADLINE_MS = 5_000;
/** A restart, a deploy or one lost packet is no outage: it must be bad at so many looks in a row. */
const LOOKS = 2;

/** Looks at everything and says what has been bad for long enough, and what is well. */
export function createConditions({
  sessionApis,
  workersAlive,
  store,
  metrics,
}: ConditionParts): () => Promise<Condition[]> {
  const badLooks = new Map<string, number>();

  function judged(isWell: boolean, found: Notice): Condition[] {
    const { episode } = found;
    const looks = isWell ? 0 : (badLooks.get(episode) ?? 0) + 1;
    badLooks.set(episode, looks);
    if (isWell) return [{ episode, bad: undefined }];
    return looks >= LOOKS ? [{ episode, bad: found }] : [];
  }

  async function sessionApi({ serverId, probe }: ConditionParts['sessionApis'][number]): Promise<Condition[]> {
    const isUp = await succeeds(() => probe(AbortSignal.timeout(PROBE_DEADLINE_MS)));
    metrics.sessionApiUp.set({ server: serverId }, isUp ? 1 : 0);
    return judged(isUp, notice('session_api.down', `session_api.down ${serverId}`, { server: serverId }));
  }

  return async () => {
    const apis = await Promise.all(sessionApis.map(sessionApi));
    const alive = await workersAlive();
    const { paused } = await store.paused();
    metrics.paused.set(paused ? 1 : 0);
    return [...apis.flat(), ...judged(alive > 0, notice('workers.none', 'workers.none', {}))];
  };
}

async function succeeds(run: () => Promise<void>): Promise<boolean> {
  try {
    await run();
    return true;
  } catch {
    return false;
  }
}
