import { setTimeout as sleep } from 'node:timers/promises';
import { newKey, shown, type ChatServerApi } from './api.ts';
import { NotChecked } from './check.ts';

/** States that a check needs a session in. `queued`: idle, with a message waiting behind it. */
export const STAGE_STATES = ['idle', 'running', 'waiting', 'queued', 'closed'] as const;
export type StageState = (typeof STAGE_STATES)[number];

/** Gets sessions into states. */
export interface Stage {
  /** A session in that state; throws {@link NotChecked} where this stage cannot have one. */
  make(state: StageState): Promise<string>;
  /** Ends the turn that runs, and waits until the session is idle. */
  finish(sessionId: string): Promise<void>;
  /** Whether every `make` gives another session. */
  readonly isFresh: boolean;
}

/**
 * A stage behind one URL of the server under test, for its tests alone: `POST { "make": "idle" }` answers
 * `{ "sessionId": "…" }`, `POST { "finish": "…" }` ends the turn that runs. Turns of such sessions last until then.
 */
export function stageAt(url: string, token: string | undefined, api: ChatServerApi, waitMs: number): Stage {
  const post = async (body: object): Promise<Record<string, unknown>> => {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(waitMs),
    });
    if (!response.ok) throw new NotChecked(`the setup URL answered ${response.status} to ${JSON.stringify(body)}`);
    return (await response.json().catch(() => ({}))) as Record<string, unknown>;
  };
  return {
    isFresh: true,
    async make(state) {
      const { sessionId } = await post({ make: state });
      if (typeof sessionId !== 'string') throw new NotChecked(`the setup URL gave no sessionId for ${state}`);
      return sessionId;
    },
    async finish(sessionId) {
      await post({ finish: sessionId });
      await untilIdle(api, sessionId, waitMs);
    },
  };
}

/** A stage of one session that may be spoken to: idle by waiting for it, running by a message. */
export function stageOf(sessionId: string, api: ChatServerApi, waitMs: number): Stage {
  return {
    isFresh: false,
    async make(state) {
      if (state !== 'idle' && state !== 'running') {
        throw new NotChecked(`needs a session that is ${state}: give --setup`);
      }
      await untilIdle(api, sessionId, waitMs);
      if (state === 'running') await api.send(sessionId, newKey());
      return sessionId;
    },
    finish: (id) => untilIdle(api, id, waitMs),
  };
}

/** Throws {@link NotChecked} where the session does not come to rest. */
export async function untilIdle(api: ChatServerApi, sessionId: string, waitMs: number): Promise<void> {
  const deadline = performance.now() + waitMs;
  let answer = await api.state(sessionId);
  while (answer.json?.['state'] !== 'idle') {
    if (performance.now() > deadline) throw new NotChecked(`the session did not become idle: ${shown(answer)}`);
    await sleep(50);
    answer = await api.state(sessionId);
  }
}
