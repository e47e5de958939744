import type { Random } from './random.ts';
import { SERVICES, WORKERS, type Phases, type ServiceName, type WorkerName } from './scale.ts';

/** The moments in which a process must have been killed at least once, or the run was too easy. */
export const WINDOWS = ['record and job', 'claim and call', 'call and record'] as const;
export type WindowName = (typeof WINDOWS)[number];

/**
 * Where exactly the process dies: at its own next request to Redis (`before-…`: that request never arrives), or while its
 * call of the session API is under way.
 */
export const WINDOW_VARIANTS = {
  'record and job': ['before-add'],
  'claim and call': ['before-sending', 'before-call'],
  'call and record': ['before-answer', 'before-settle'],
} as const satisfies Record<WindowName, readonly string[]>;
export type WindowVariant = (typeof WINDOW_VARIANTS)[WindowName][number];

export type Fault = { atMs: number } & (
  | { do: 'kill'; service: ServiceName; awayMs: number }
  | { do: 'restart'; service: ServiceName }
  | { do: 'pause'; service: ServiceName; forMs: number }
  | { do: 'redis-restart'; how: 'SIGTERM' | 'SIGKILL'; awayMs: number }
  | { do: 'redis-freeze'; forMs: number }
  | { do: 'network'; service: ServiceName; how: 'cut' | 'freeze'; to: 'redis'; forMs: number }
  | { do: 'network'; service: WorkerName; how: 'cut' | 'freeze'; to: 'api'; forMs: number }
  | { do: 'delay'; service: ServiceName; to: 'redis'; ms: number; forMs: number }
  | { do: 'delay'; service: WorkerName; to: 'api'; ms: number; forMs: number }
  | { do: 'cut-after'; service: ServiceName; bytes: number; direction: 'toServer' | 'toClient' }
  /** The next process that comes into this window dies there. */
  | { do: 'window'; window: WindowName; variant: WindowVariant; awayMs: number }
  /** The next worker that was allowed to call is stopped before it can, a person's turn goes by, and it wakes up. */
  | { do: 'pause-before-call'; forMs: number; human: boolean }
);

const WEIGHTS = {
  kill: 22,
  restart: 6,
  pause: 14,
  'redis-restart': 6,
  'redis-freeze': 6,
  'network-redis': 10,
  'network-api': 10,
  'delay-redis': 6,
  'delay-api': 6,
  'cut-after': 10,
  'pause-before-call': 10,
} as const;

export function planFaults(random: Random, { chaosMs }: Phases, minutes: number): Fault[] {
  const faults: Fault[] = [];
  const deaths: Deaths = { watcher: 0, worker: 0 };
  for (let atMs = 1_500; atMs < chaosMs; atMs += random.int(500, 2_500)) faults.push(oneFault(random, atMs, deaths));
  for (const window of WINDOWS) {
    const times = Math.max(2, Math.round(minutes * 2));
    for (let nth = 0; nth < times; nth += 1) {
      const variants = WINDOW_VARIANTS[window];
      const variant = variants[nth % variants.length] ?? variants[0];
      const atMs = Math.round((chaosMs * 0.7 * nth) / times) + random.int(500, 2_000);
      faults.push({ atMs, do: 'window', window, variant, awayMs: random.int(100, 1_500) });
    }
  }
  return faults.toSorted((a, b) => a.atMs - b.atMs);
}

/** Until when no further process of that sort dies: a slow machine needs seconds for a start, and faults must meet the living. */
type Deaths = Record<'watcher' | 'worker', number>;
const APART_MS = { watcher: 8_000, worker: 4_000 };

function oneFault(random: Random, atMs: number, deaths: Deaths): Fault {
  const fault = anyFault(random, atMs);
  if (fault.do !== 'kill' && fault.do !== 'restart') return fault;
  const sort = fault.service.startsWith('watcher') ? 'watcher' : 'worker';
  if (atMs < deaths[sort]) return { atMs, do: 'pause', service: fault.service, forMs: random.int(200, 2_500) };
  deaths[sort] = atMs + APART_MS[sort];
  return fault;
}

function anyFault(random: Random, atMs: number): Fault {
  const service = random.pick(SERVICES);
  const worker = random.pick(WORKERS);
  const how = random.pick(['cut', 'freeze'] as const);
  const forMs = random.int(200, 2_500);
  switch (random.weighted(WEIGHTS)) {
    case 'kill':
      return { atMs, do: 'kill', service, awayMs: random.int(0, 2_500) };
    case 'restart':
      return { atMs, do: 'restart', service };
    case 'pause':
      // Now and then past BullMQ's lock of 10 s: another worker takes the job over while this one still has it.
      return { atMs, do: 'pause', service, forMs: random.chance(0.1) ? random.int(11_000, 13_000) : forMs };
    case 'redis-restart':
      return {
        atMs,
        do: 'redis-restart',
        how: random.pick(['SIGTERM', 'SIGKILL'] as const),
        awayMs: random.int(0, 1_500),
      };
    case 'redis-freeze':
      return { atMs, do: 'redis-freeze', forMs };
    case 'network-redis':
      return { atMs, do: 'network', service, how, to: 'redis', forMs };
    case 'network-api':
      return { atMs, do: 'network', service: worker, how, to: 'api', forMs };
    case 'delay-redis':
      return { atMs, do: 'delay', service, to: 'redis', ms: random.int(5, 80), forMs };
    case 'delay-api':
      return { atMs, do: 'delay', service: worker, to: 'api', ms: random.int(20, 400), forMs };
    case 'cut-after':
      return {
        atMs,
        do: 'cut-after',
        service,
        bytes: random.int(1, 3_000),
        direction: random.pick(['toServer', 'toClient'] as const),
      };
    case 'pause-before-call':
      return { atMs, do: 'pause-before-call', forMs: random.int(2_500, 9_000), human: random.chance(0.7) };
  }
}
