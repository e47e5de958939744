import { randomUUID } from 'node:crypto';
import { planBackstop } from '#shared/queue/plan.js';
import type { JobAdder } from './ports.ts';

/** The jobs that see to steps which no watcher has taken. */
export interface BackstopJobs {
  /**
   * Resolves once a job that sees to the step due at `dueMs` is on the queue. All steps of one second share one: a turn end
   * adds a job only where it is the first of its second here. A step that is past counts as one of this second. Rejects as
   * the queue does; then nothing was promised.
   */
  expect(step: { dueMs: number; nowMs: number }): Promise<void>;
  /** There is another Redis behind the connection: what was added may be lost with the old one. */
  forget(): void;
}

const SLOT_MS = 1_000;
/** Watchers come first: they know which files have changed, and look only at those. */
const AFTER_WATCHERS_MS = 3_000;
/** Steps lie ten seconds ahead, so this is far more than are open at a time. */
const MOST_SLOTS = 60;

/** @param now monotonic milliseconds */
export function createBackstopJobs(queue: JobAdder, now: () => number = () => performance.now()): BackstopJobs {
  const owner = randomUUID();
  /** By the end of the slot; one is good only while its job has not run. */
  const slots = new Map<number, { added: Promise<unknown>; untilMs: number }>();
  let made = 0;

  function add(slotMs: number, nowMs: number): { added: Promise<unknown>; untilMs: number } {
    made += 1;
    const dueMs = slotMs + AFTER_WATCHERS_MS;
    const job = planBackstop(`${owner}-${made}`, { dueMs, nowMs });
    const slot = { added: queue.add(job.name, job.data, job.options), untilMs: now() + dueMs - nowMs };
    slots.set(slotMs, slot);
    for (const oldest of slots.keys()) {
      if (slots.size <= MOST_SLOTS) break;
      slots.delete(oldest);
    }
    return slot;
  }

  return {
    async expect({ dueMs, nowMs }) {
      const slotMs = (Math.floor(Math.max(dueMs, nowMs) / SLOT_MS) + 1) * SLOT_MS;
      const known = slots.get(slotMs);
      const slot = known !== undefined && now() < known.untilMs ? known : add(slotMs, nowMs);
      try {
        await slot.added;
      } catch (error) {
        if (slots.get(slotMs) === slot) slots.delete(slotMs);
        throw error;
      }
    },
    forget: () => slots.clear(),
  };
}
