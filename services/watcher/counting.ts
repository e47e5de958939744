import { Counter as PromCounter } from 'prom-client';
import type { Metrics } from '#shared/platform/metrics.js';
import { COUNTERS, type Counter } from './ports.ts';

/** Registers the watcher's counters beside those that every process has; what is returned adds one to any of them. */
export function createCounter(metrics: Metrics): Counter {
  const own = new Map<string, PromCounter>();
  for (const [name, { labels, help }] of Object.entries(COUNTERS)) {
    const fields = { name: `chat_recovery_${name}`, help, labelNames: [...labels], registers: [metrics.registry] };
    own.set(name, new PromCounter(fields));
  }
  return (name, labels = {}) => {
    if (name === 'webhooks_total') metrics.webhooks.inc(labels);
    else if (name === 'notices_total') metrics.notices.inc();
    else own.get(name)?.inc(labels);
  };
}
