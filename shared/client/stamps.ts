/** More sessions than this, and those whose clock has caught up are forgotten. */
const MANY = 1_000;

/**
 * Stamps for events: the clock's, and within one session always later than the one before, so that their order can be
 * told from the stamps alone, whatever the clock does.
 */
export class Stamps {
  readonly #last = new Map<string, number>();

  next(sessionId: string, nowMs: number): string {
    const stampMs = Math.max(nowMs, (this.#last.get(sessionId) ?? 0) + 1);
    this.#last.set(sessionId, stampMs);
    if (this.#last.size > MANY) this.#forget(nowMs);
    return new Date(stampMs).toISOString();
  }

  /** An event of an earlier process: the next one comes after it. */
  saw(sessionId: string, stamp: string): void {
    const stampMs = Date.parse(stamp);
    if (stampMs > (this.#last.get(sessionId) ?? 0)) this.#last.set(sessionId, stampMs);
  }

  #forget(nowMs: number): void {
    for (const [sessionId, stampMs] of this.#last) if (stampMs < nowMs) this.#last.delete(sessionId);
  }
}
