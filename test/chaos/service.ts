import { appendFileSync } from 'node:fs';
import { startProcess, type TestProcess } from '../support/processes.ts';
import type { ServiceName } from './scale.ts';

export interface ServiceOptions {
  name: ServiceName;
  /** Compiled entry file. */
  file: string;
  /** Folder of the program. */
  root: string;
  env: Record<string, string>;
  /** Where its output goes. */
  log: string;
}

/** One service as a process that may be killed, stopped in its tracks, and started again. */
export class Service {
  readonly name: ServiceName;
  kills = 0;
  readonly #options: ServiceOptions;
  #process: TestProcess | undefined;
  #starting: Promise<void> | undefined;
  #again: NodeJS.Timeout | undefined;
  #thaw: NodeJS.Timeout | undefined;
  #over = false;

  constructor(options: ServiceOptions) {
    this.name = options.name;
    this.#options = options;
  }

  get running(): boolean {
    return this.#process !== undefined;
  }

  /** Starts it where it is not running; `ready`: waits until it says so, which a restart in the middle of faults does not. */
  async start({ ready = false } = {}): Promise<void> {
    if (this.#process !== undefined || this.#over) return;
    this.#starting ??= this.#start(ready).finally(() => {
      this.#starting = undefined;
    });
    await this.#starting;
  }

  async #start(ready: boolean): Promise<void> {
    const { file, root, env, log } = this.#options;
    const started = await startProcess({ file, root, env, node: [], ...(ready ? {} : { ready: undefined }) });
    this.#process = started;
    // Should this program end without a `close`, its services go with it.
    const onExit = (): void => started.signal('SIGKILL');
    process.once('exit', onExit);
    void this.#follow(started, onExit, log);
  }

  async #follow(started: TestProcess, onExit: () => void, log: string): Promise<void> {
    await started.exited;
    process.off('exit', onExit);
    if (this.#process === started) this.#process = undefined;
    appendFileSync(log, `${started.lines.join('\n')}\n`);
  }

  /** SIGKILL at this very moment; it is started again after `awayMs`, or never. */
  kill(awayMs: number | undefined): boolean {
    const dying = this.#process;
    if (dying === undefined) return false;
    this.#process = undefined;
    this.kills += 1;
    dying.signal('SIGKILL');
    if (awayMs !== undefined) this.#startLater(awayMs);
    return true;
  }

  /** SIGTERM, its own drain, and a start. */
  async restart(): Promise<void> {
    await this.#end();
    await this.start();
  }

  /** SIGSTOP, and SIGCONT later: it does not notice that time went by. */
  pause(forMs: number): void {
    const stopped = this.#process;
    stopped?.signal('SIGSTOP');
    clearTimeout(this.#thaw);
    this.#thaw = setTimeout(() => stopped?.signal('SIGCONT'), forMs);
  }

  /** Whatever was done to it is over: it runs. */
  async heal(): Promise<void> {
    clearTimeout(this.#thaw);
    clearTimeout(this.#again);
    this.#process?.signal('SIGCONT');
    await this.start();
  }

  /** Ends it for good. */
  async close(): Promise<void> {
    this.#over = true;
    clearTimeout(this.#again);
    await this.#starting;
    await this.#end();
  }

  /** Its end may take as long as its own deadlines; then it is killed. */
  async #end(): Promise<void> {
    const ending = this.#process;
    if (ending === undefined) return;
    this.#process = undefined;
    clearTimeout(this.#thaw);
    ending.signal('SIGCONT');
    ending.signal('SIGTERM');
    const force = setTimeout(() => ending.signal('SIGKILL'), 12_000);
    await ending.exited;
    clearTimeout(force);
  }

  #startLater(awayMs: number): void {
    clearTimeout(this.#again);
    this.#again = setTimeout(() => void this.start(), awayMs);
  }
}
