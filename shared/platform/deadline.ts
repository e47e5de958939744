/** A wait that took longer than its deadline. */
export class DeadlineError extends Error {
  readonly code = 'deadline';

  constructor(what: string, afterMs: number) {
    super(`${what} did not finish within ${afterMs} ms.`);
    this.name = 'DeadlineError';
  }
}

/**
 * Waits for `work` at most `afterMs`, then rejects with {@link DeadlineError}. The work itself is not stopped; a failure
 * of it after the deadline is ignored, since the caller has had its answer.
 */
export async function withDeadline<T>(work: Promise<T>, afterMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(what, afterMs)), afterMs);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
