import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** From 1 ms to 5 s: the bar for a nudge is 150 ms after its due moment. */
const OVERSHOOT_BUCKETS_S = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 5];
/** A reply takes a model a few seconds to some minutes; above five minutes the nudge counts as without effect anyway. */
const REPLY_BUCKETS_S = [0.1, 0.5, 1, 2, 5, 10, 20, 40, 60, 120, 300];

export type Metrics = ReturnType<typeof createMetrics>;

/**
 * Every number that a process of ours shows, in a registry of its own (nothing global: tests run several processes' worth
 * in one). The process itself (memory, event loop) is measured only with `processMetrics`, since that starts observers.
 */
export function createMetrics({ processMetrics = false }: { processMetrics?: boolean } = {}) {
  const registry = new Registry();
  if (processMetrics) collectDefaultMetrics({ register: registry, prefix: 'chat_recovery_' });
  const registers = [registry];
  return {
    registry,
    ...counters(registers),
    overshootSeconds: new Histogram({
      name: 'chat_recovery_nudge_overshoot_seconds',
      help: 'How long after its due moment an evaluation started.',
      buckets: OVERSHOOT_BUCKETS_S,
      registers,
    }),
    nudgeToReplySeconds: new Histogram({
      name: 'chat_recovery_nudge_to_reply_seconds',
      help: 'From an accepted nudge to the reply that followed it.',
      buckets: REPLY_BUCKETS_S,
      registers,
    }),
    armedSessions: new Gauge({
      name: 'chat_recovery_armed_sessions',
      help: 'Sessions with an armed watch.',
      registers,
    }),
    sessionApiUp: new Gauge({
      name: 'chat_recovery_session_api_up',
      help: 'Whether the session API of a chat server answers (1) or not (0); looked at every 30 s by watchers.',
      labelNames: ['server'],
      registers,
    }),
    paused: new Gauge({
      name: 'chat_recovery_paused',
      help: 'Whether automatic recovery is paused (1), by a person or by itself.',
      registers,
    }),
    overdueSeconds: new Gauge({
      name: 'chat_recovery_overdue_seconds',
      help: 'For how long the oldest due job has not been taken.',
      registers,
    }),
    workersAlive: new Gauge({
      name: 'chat_recovery_workers_alive',
      help: 'Recovery workers that have shown themselves within the last 20 s and hear their queue.',
      registers,
    }),
    overdueJobs: new Gauge({
      name: 'chat_recovery_overdue_jobs',
      help: 'Delayed jobs whose due moment has passed.',
      registers,
    }),
  };
}

function counters(registers: Registry[]) {
  return {
    webhooks: new Counter({
      name: 'chat_recovery_webhooks_total',
      help: 'Answered deliveries by type and outcome (applied, duplicate, stale, refused, limited, unavailable).',
      labelNames: ['type', 'outcome'],
      registers,
    }),
    notices: new Counter({
      name: 'chat_recovery_notices_total',
      help: 'Killed-task notices surfaced, once per hang.',
      registers,
    }),
    decisions: new Counter({
      name: 'chat_recovery_decisions_total',
      help: 'Evaluations by the reason of their decision.',
      labelNames: ['reason'],
      registers,
    }),
    nudges: new Counter({
      name: 'chat_recovery_nudges_total',
      help: 'Nudges by kind (auto, manual) and outcome (accepted, refused, unknown, void, gone, failed).',
      labelNames: ['kind', 'outcome'],
      registers,
    }),
    sessionApiFailures: new Counter({
      name: 'chat_recovery_session_api_failures_total',
      help: 'Failed session API calls by class.',
      labelNames: ['class'],
      registers,
    }),
  };
}
