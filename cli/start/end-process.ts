import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessId } from '#shared/liveness/process-id.js';

/** Ends a process that is not our child: asks, waits, then insists. */
export async function endProcess(id: ProcessId, waitMs: number): Promise<void> {
  if (!isAlive(id)) return;
  process.kill(id.pid, 'SIGTERM');
  const deadline = performance.now() + waitMs;
  while (isAlive(id) && performance.now() < deadline) await sleep(20);
  if (isAlive(id)) process.kill(id.pid, 'SIGKILL');
}
