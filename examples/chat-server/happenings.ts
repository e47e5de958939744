import { EventEmitter } from 'node:events';

/** One thing that happened in a chat, for people, demos and tests. */
export interface Happening {
  atMs: number;
  sessionId: string;
  /**
   * The five lifecycle types; `chat.created`, `reply`, `task.killed`, `task.completed`; `nudge.accepted`, `nudge.repeated`,
   * `nudge.refused` (calls of the session API); `webhook.delivered`, `webhook.failed`, `webhook.dropped`.
   */
  kind: string;
  fields: Record<string, unknown>;
}

/** Keeps the last thousand happenings and tells new ones. */
export class Happenings {
  readonly #emitter = new EventEmitter<{ happening: [Happening] }>();
  readonly #past: Happening[] = [];

  constructor() {
    this.#emitter.setMaxListeners(0);
  }

  tell(sessionId: string, kind: string, fields: Record<string, unknown> = {}): void {
    const happening = { atMs: Date.now(), sessionId, kind, fields };
    this.#past.push(happening);
    if (this.#past.length > 1_000) this.#past.shift();
    this.#emitter.emit('happening', happening);
  }

  /** Calls back for each happening from now on. Returns its own remover. */
  listen(listener: (happening: Happening) => void): () => void {
    this.#emitter.on('happening', listener);
    return () => this.#emitter.off('happening', listener);
  }

  past(sessionId?: string): Happening[] {
    return this.#past.filter((happening) => sessionId === undefined || happening.sessionId === sessionId);
  }

  /** Resolves with the first happening that fits, past ones included; rejects after `timeoutMs`. */
  wait(fits: (happening: Happening) => boolean, timeoutMs = 10_000): Promise<Happening> {
    const earlier = this.#past.find((happening) => fits(happening));
    if (earlier !== undefined) return Promise.resolve(earlier);
    return new Promise((resolve, reject) => {
      const stop = this.listen((happening) => {
        if (!fits(happening)) return;
        clearTimeout(timer);
        stop();
        resolve(happening);
      });
      const timer = setTimeout(() => {
        stop();
        reject(new Error(`Nothing fitting happened within ${timeoutMs} ms.`));
      }, timeoutMs);
    });
  }
}
