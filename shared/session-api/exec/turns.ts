import type { DriverLog } from '../log.ts';
import type { Launched } from './launch.ts';
import type { SessionLock } from './session-lock.ts';

const TRIM_EVERY_MS = 5_000;

/** Turns whose commands still run: bounded in time and output, told of at their end, left alone when this process stops. */
export class RunningTurns {
  readonly #log: DriverLog;
  readonly #maxMs: number;
  readonly #left = new Set<() => void>();

  constructor(log: DriverLog, maxMs: number) {
    this.#log = log;
    this.#maxMs = maxMs;
  }

  follow(sessionId: string, command: Launched, lock: SessionLock): void {
    const overdue = setTimeout(() => {
      this.#log.warn({ sessionId, pid: command.pid, maxMs: this.#maxMs }, 'A turn runs too long: it is ended.');
      command.end();
    }, this.#maxMs);
    const trim = setInterval(() => void this.#trim(sessionId, command), TRIM_EVERY_MS);
    const stop = (): void => {
      clearTimeout(overdue);
      clearInterval(trim);
      this.#left.delete(stop);
      command.letGo();
    };
    this.#left.add(stop);
    void this.#untilItsEnd(sessionId, command, lock, stop);
  }

  /** Stops following. The turns go on: whoever looks next sees by their locks that they live. */
  close(): void {
    for (const stop of this.#left) stop();
  }

  async #untilItsEnd(sessionId: string, command: Launched, lock: SessionLock, stop: () => void): Promise<void> {
    const { code, signal } = await command.ended;
    stop();
    await attempt(lock.release());
    const output = await attempt(command.output());
    const fields = { sessionId, pid: command.pid, code, signal, output };
    if (code === 0) this.#log.info(fields, 'The command of a nudged turn has ended.');
    else this.#log.warn(fields, 'The command of a nudged turn has failed.');
  }

  async #trim(sessionId: string, command: Launched): Promise<void> {
    const error = await command.trimOutput().then(
      () => undefined,
      (reason: unknown) => reason,
    );
    if (error !== undefined) this.#log.warn({ sessionId, err: error }, 'The output of a turn could not be cut.');
  }
}

/** `undefined` where it failed: the end of a turn is told all the same. */
const attempt = <T>(work: Promise<T>): Promise<T | undefined> => work.catch(() => undefined);
