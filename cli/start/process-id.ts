import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** A process, told apart from a later one that got the same id. */
export interface ProcessId {
  pid: number;
  /** Kernel's start time of the process in clock ticks since boot; `null` where the system does not tell (no /proc). */
  startTicks: string | null;
}

/** Names the running process with this id. */
export function identify(pid: number): ProcessId {
  return { pid, startTicks: startTicks(pid) };
}

/** True while that very process runs; another one with the same id is not it. */
export function isAlive({ pid, startTicks: known }: ProcessId): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, under another user.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  const current = startTicks(pid);
  return known === null || current === null || known === current;
}

/** Ends a process that is not our child: asks, waits, then insists. */
export async function endProcess(id: ProcessId, waitMs: number): Promise<void> {
  if (!isAlive(id)) return;
  process.kill(id.pid, 'SIGTERM');
  const deadline = performance.now() + waitMs;
  while (isAlive(id) && performance.now() < deadline) await sleep(20);
  if (isAlive(id)) process.kill(id.pid, 'SIGKILL');
}

/** Field 22 of /proc/PID/stat. The name in field 2 may hold blanks and brackets: count from behind its last bracket. */
function startTicks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // A zombie has ended, only its parent has not looked yet.
    return fields[0] === 'Z' ? 'ended' : (fields[19] ?? null);
  } catch {
    return null;
  }
}
