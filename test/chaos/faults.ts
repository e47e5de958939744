import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment } from './deployment.ts';
import type { Fault } from './plan-faults.ts';
import type { Windows } from './windows.ts';

/** Lets the planned faults happen, each at its time. */
export class Faults {
  /** How many of each kind happened. */
  readonly counts: Record<string, number> = {};
  readonly #deployment: Deployment;
  readonly #windows: Windows;
  readonly #under: Promise<unknown>[] = [];

  constructor(deployment: Deployment, windows: Windows) {
    this.#deployment = deployment;
    this.#windows = windows;
  }

  /** From now on; resolves when the last one has begun. */
  async run(faults: readonly Fault[], signal: AbortSignal): Promise<void> {
    const startMs = performance.now();
    for (const fault of faults) {
      await sleep(Math.max(0, fault.atMs - (performance.now() - startMs)), undefined, { signal });
      this.counts[fault.do] = (this.counts[fault.do] ?? 0) + 1;
      this.#under.push(this.#happen(fault));
    }
  }

  /** Every fault is over: wires whole, Redis and all services running. */
  async heal(): Promise<void> {
    const { redis, services, wires } = this.#deployment;
    this.#windows.disarm();
    await Promise.all(this.#under);
    for (const wire of [...Object.values(wires.redis), ...Object.values(wires.api)]) wire.heal();
    await redis.heal();
    await Promise.all(Object.values(services).map((service) => service.heal()));
  }

  async #happen(fault: Fault): Promise<void> {
    const { redis, services, wires } = this.#deployment;
    switch (fault.do) {
      case 'kill':
        services[fault.service].kill(fault.awayMs);
        return;
      case 'restart':
        return services[fault.service].restart();
      case 'pause':
        services[fault.service].pause(fault.forMs);
        return;
      case 'redis-restart':
        return redis.restart(fault.how, fault.awayMs);
      case 'redis-freeze':
        redis.freeze(fault.forMs);
        return;
      case 'network':
      case 'delay': {
        const wire = fault.to === 'redis' ? wires.redis[fault.service] : wires.api[fault.service];
        if (fault.do === 'delay') wire.delay(fault.ms);
        else if (fault.how === 'cut') wire.cut();
        else wire.freeze();
        await sleep(fault.forMs);
        wire.heal();
        return;
      }
      case 'cut-after':
        wires.redis[fault.service].cutAfter(fault.bytes, fault.direction);
        return;
      case 'window':
      case 'pause-before-call':
        this.#windows.arm(fault);
    }
  }
}
