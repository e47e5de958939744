import type { Direction, Tap } from '../support/proxy.ts';
import type { Fault, WindowName, WindowVariant } from './plan-faults.ts';
import { WINDOWS } from './plan-faults.ts';
import { WORKERS, type ServiceName, type WorkerName } from './scale.ts';

type Trap = Extract<Fault, { do: 'window' }>;
type PauseTrap = Extract<Fault, { do: 'pause-before-call' }>;

/** What the traps do to whom they catch. */
export interface Hands {
  /** SIGKILL now; false: it was not running. */
  kill(service: ServiceName, awayMs: number | undefined): boolean;
  pause(service: ServiceName, trap: { forMs: number; human: boolean }, sessionId: string): void;
}

/** A call was seen leaving its worker. */
export type OnLeft = (worker: WorkerName, sessionId: string, key: string) => void;

/**
 * Finds the moments in which a death hurts most, by watching what each process says to Redis and to the session API, and
 * kills it there. A window counts as hit only with proof: the step before it was answered, and the request of the step
 * after it was taken off the wire before anybody could see it.
 */
export class Windows {
  readonly hits: Record<WindowName, number> = { 'record and job': 0, 'claim and call': 0, 'call and record': 0 };
  readonly #hands: Hands;
  readonly #onLeft: OnLeft;
  readonly #traps: Trap[] = [];
  readonly #pauses: PauseTrap[] = [];
  /** Watchers that were told that a turn's end stands in the record, and have added no job since. */
  readonly #recorded = new Set<ServiceName>();
  /** Attempts that stand in the record as claimed, and the session of each. */
  readonly #claimed = new Set<string>();
  /** Workers that were allowed to call and have not yet been told so. */
  readonly #permitted = new Map<ServiceName, string>();
  #holding: Holding | undefined;

  constructor(hands: Hands, onLeft: OnLeft) {
    this.#hands = hands;
    this.#onLeft = onLeft;
  }

  arm(trap: Trap | PauseTrap): void {
    if (trap.do === 'window') this.#traps.push(trap);
    else this.#pauses.push(trap);
  }
  disarm(): void {
    this.#traps.length = 0;
    this.#pauses.length = 0;
  }
  isHardEnough(): boolean {
    return WINDOWS.every((window) => this.hits[window] > 0);
  }

  /**
   * From now on this watcher's jobs of turn ends never arrive, while its records do. Resolves once so many turn ends are
   * recorded; the watcher is killed then.
   */
  holdJobs(service: ServiceName, turnEnds: number): Promise<void> {
    return new Promise((resolve) => {
      this.#holding = { service, left: turnEnds, done: resolve };
    });
  }

  holdNothing(): void {
    this.#holding = undefined;
  }

  /** Between a service and Redis. */
  redisTap(service: ServiceName): Tap {
    return (chunk, direction) => this.#redis(service, chunk.toString('latin1'), direction);
  }

  /** Between a worker and the session API. */
  apiTap(worker: WorkerName): Tap {
    return (chunk, direction) =>
      direction === 'toServer' ? this.#call(worker, chunk.toString('latin1')) : ('pass' as const);
  }

  /**
   * A message was taken, and its answer is about to leave; true: nobody is left to hear it.
   * @param always whether this one's worker dies in any case
   */
  beforeAnswer(worker: WorkerName, always: boolean): boolean {
    if (!always) return this.#spring('call and record', 'before-answer', worker);
    const killed = this.#hands.kill(worker, AWAY_MS);
    if (killed) this.hits['call and record'] += 1;
    return killed;
  }

  #redis(service: ServiceName, text: string, direction: Direction): ReturnType<Tap> {
    if (direction === 'toClient') return this.#answered(service, text);
    // A watcher's own: those that workers make end with the UUID.
    if (/backstop-[0-9a-f-]{36}-\d+/.test(text) && this.#recorded.delete(service)) return this.#adding(service);
    const attempt = /"attemptId":"([0-9a-f]{40})"/.exec(text)?.[1];
    if (attempt === undefined) return 'pass';
    if (text.includes('"leaseMs"')) return this.#asking(service, text, attempt);
    const isSettling = text.includes('"outcome":"accepted"');
    return isSettling && this.#spring('call and record', 'before-settle', service) ? 'drop' : 'pass';
  }

  #answered(service: ServiceName, text: string): 'pass' {
    const steps = text.includes('"outcome":"applied"') ? [...text.matchAll(/"step":\{/g)].length : 0;
    if (steps > 0) this.#recorded.add(service);
    if (this.#holding?.service === service) this.#holding.left -= steps;
    if (text.includes('"phase":"claimed"')) {
      for (const [, id] of text.matchAll(/"attemptId":"([0-9a-f]{40})"/g)) if (id !== undefined) this.#claimed.add(id);
    }
    const sessionId = this.#permitted.get(service);
    const trap = this.#pauses[0];
    if (sessionId !== undefined && text.includes('"ok":true')) {
      this.#permitted.delete(service);
      if (trap !== undefined) this.#hands.pause(service, trap, sessionId);
      this.#pauses.shift();
    }
    return 'pass';
  }

  /** A watcher that has recorded turns' ends adds their jobs. */
  #adding(service: ServiceName): 'pass' | 'drop' | 'swallow' {
    const holding = this.#holding;
    if (holding?.service !== service) return this.#spring('record and job', 'before-add', service) ? 'drop' : 'pass';
    if (holding.left <= 0) {
      if (this.#hands.kill(service, undefined)) this.hits['record and job'] += 1;
      holding.done();
    }
    return 'swallow';
  }

  /** A worker that has claimed asks once more before it calls. */
  #asking(service: ServiceName, text: string, attempt: string): 'pass' | 'drop' {
    if (!this.#claimed.has(attempt)) return 'pass';
    if (this.#spring('claim and call', 'before-sending', service)) return 'drop';
    const sessionId = /"id":"([0-9a-f-]{36})"/.exec(text)?.[1];
    if (sessionId !== undefined) this.#permitted.set(service, sessionId);
    return 'pass';
  }

  #call(worker: WorkerName, text: string): 'pass' | 'drop' {
    const sessionId = /^POST \/[\w-]+\/sessions\/([0-9a-f-]{36})\/messages/m.exec(text)?.[1];
    const key = /^idempotency-key: (\S+)/im.exec(text)?.[1];
    if (sessionId === undefined || key === undefined) return 'pass';
    const isFirst = this.#claimed.delete(key);
    if (isFirst && this.#spring('claim and call', 'before-call', worker)) return 'drop';
    this.#onLeft(worker, sessionId, key);
    return 'pass';
  }

  /** Kills the service if a trap of that kind is set. */
  #spring(window: WindowName, variant: WindowVariant, service: ServiceName): boolean {
    if (window !== 'record and job' && !WORKERS.some((worker) => worker === service)) return false;
    const index = this.#traps.findIndex((trap) => trap.window === window && trap.variant === variant);
    const trap = this.#traps[index];
    if (trap === undefined || !this.#hands.kill(service, trap.awayMs)) return false;
    this.#traps.splice(index, 1);
    this.hits[window] += 1;
    return true;
  }
}

/** How long a worker stays away that died with its chat's plan. */
const AWAY_MS = 500;

interface Holding {
  service: ServiceName;
  /** Turn ends that are still to be recorded. */
  left: number;
  done: () => void;
}
