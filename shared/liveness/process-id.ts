import { readFileSync } from 'node:fs';

/** A process, told apart from a later one that got the same id. */
export interface ProcessId {
  pid: number;
  /** The kernel's start time of the process in ticks since boot; `null` where the system does not tell (no /proc). */
  startTicks: string | null;
}

/** Names the process that has this id now. */
export function identify(pid: number): ProcessId {
  return { pid, startTicks: startTicks(pid) };
}

/** True while that very process runs; another one with the same id is not it, and one that has ended un-noticed neither. */
export function isAlive({ pid, startTicks: known }: ProcessId): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, under another user.
    if (!(error instanceof Error && 'code' in error && error.code === 'EPERM')) return false;
  }
  const current = startTicks(pid);
  return current !== ENDED && (known === null || current === null || known === current);
}

export function isProcessId(value: unknown): value is ProcessId {
  if (typeof value !== 'object' || value === null || !('pid' in value) || !('startTicks' in value)) return false;
  const { pid, startTicks: ticks } = value;
  return Number.isInteger(pid) && Number(pid) > 0 && (ticks === null || typeof ticks === 'string');
}

/** A zombie: only its parent has not looked yet. */
const ENDED = 'ended';

/** Field 22 of /proc/PID/stat. The name in field 2 may hold blanks and brackets: counted from behind its last bracket. */
function startTicks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? ENDED : (fields[19] ?? null);
  } catch {
    return null;
  }
}
