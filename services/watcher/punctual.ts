import type { JobAdder } from './ports.ts';

/** A timer may fire within the millisecond before the due moment, so there is a second word. */
const AFTER_DUE_MS = [1, 6] as const;

export interface Punctual extends JobAdder {
  /** Forgets the moments that are still to come. */
  close(): void;
}

/**
 * The queue, with evaluations of a seen kill taken up at their due moment.
 *
 * A worker waits for it in a blocking read with a time-out, and an idle Redis looks for time-outs only `hz` times a second
 * (10 by default): up to 100 ms late, 35 to 46 measured. It looks as well whenever it is spoken to, so it is: a few words for
 * each kill, whatever its `hz`, hosted ones included. Nothing depends on them.
 *
 * @param speak any cheap command to the server that holds the queue
 */
export function punctual(queue: JobAdder, speak: () => Promise<unknown>): Punctual {
  const timers = new Set<NodeJS.Timeout>();

  function speakIn(delayMs: number): void {
    const timer = setTimeout(() => {
      timers.delete(timer);
      // In vain it is only late.
      speak().catch(() => undefined);
    }, delayMs);
    timers.add(timer);
  }

  return {
    async add(name, data, options) {
      const answer = await queue.add(name, data, options);
      const dueInMs = options.dueMs - options.nowMs;
      if ('why' in data && data.why === 'notice' && dueInMs > 0) {
        for (const afterMs of AFTER_DUE_MS) speakIn(dueInMs + afterMs);
      }
      return answer;
    },
    close() {
      for (const timer of timers) clearTimeout(timer);
      timers.clear();
    },
  };
}
