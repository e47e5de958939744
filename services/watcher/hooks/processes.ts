import { identify, isAlive } from '#shared/liveness/process-id.js';
import type { SessionProcesses } from '#shared/liveness/session-processes.js';
import type { Hook } from './payload.ts';

type Start = Extract<Hook, { hook_event_name: 'SessionStart' }>;

const TIDY_EVERY_MS = 600_000;

/** Which process drives a session, as its hooks tell it; the `exec` driver asks before it resumes one. */
export interface HookProcesses {
  started(hook: Start): Promise<void>;
  /** The session has another process, or none, from now on although its old one may live. */
  left(sessionId: string): Promise<void>;
}

export function hookProcesses(processes: SessionProcesses): HookProcesses {
  let tidiedMs = -Infinity;
  return {
    async started({ session_id: sessionId, claude_process: claude }) {
      // On another machine, or in another container, this number is somebody else's.
      if (claude === undefined || identify(claude.pid).startTicks !== claude.startTicks) return;
      await processes.record(sessionId, claude.pid);
      if (performance.now() - tidiedMs < TIDY_EVERY_MS) return;
      tidiedMs = performance.now();
      await forgetDead(processes);
    },
    left: (sessionId) => processes.forget(sessionId),
  };
}

async function forgetDead(processes: SessionProcesses): Promise<void> {
  for (const sessionId of (await processes.all()).values()) {
    const known = await processes.of(sessionId);
    if (known !== undefined && !isAlive(known)) await processes.forget(sessionId);
  }
}
