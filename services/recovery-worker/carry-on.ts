import { backstop } from './backstop.ts';
import type { WorkerParts } from './parts.ts';

const EVERY_MS = 5_000;
/** A watcher sees to a step within a second or two, and after a start or a burst to thousands of them within seconds. */
const OVERDUE_MS = 15_000;

/**
 * Carries the watches on where no watcher does: every few seconds one cheap call asks for steps that have been due for long.
 * A turn end's own job sees to its first step alone; this sees to all later ones, and to what whoever took a step has not done.
 */
export function startCarryOn(parts: WorkerParts, everyMs = EVERY_MS): { stop(): Promise<void> } {
  let running: Promise<void> | undefined;

  async function round(): Promise<void> {
    try {
      const taken = await backstop(parts, OVERDUE_MS);
      if (taken > 0) parts.logger.warn({ sessions: taken }, 'No watcher looks at these chats: a worker does.');
    } catch (err) {
      // Redis is away: its own client says so. What was taken is due again soon.
      parts.logger.debug({ err }, 'Overdue steps could not be taken; tried again.');
    }
  }

  const timer = setInterval(() => {
    running ??= round().finally(() => {
      running = undefined;
    });
  }, everyMs);

  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
