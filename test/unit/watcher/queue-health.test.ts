import { describe, expect, it } from 'vitest';
import { createMetrics } from '#shared/platform/metrics.js';
import type { QueueState } from '#shared/queue/pulse.js';
import { createQueueHealth } from '../../../services/watcher/queue-health.ts';

const RESTING: QueueState = {
  nowMs: 0,
  workers: ['host:1:a'],
  overdue: 0,
  overdueMs: 0,
  waiting: 0,
  oldestWaiting: undefined,
  paused: false,
};

function world() {
  const at = { ms: 0, state: RESTING };
  const metrics = createMetrics();
  const health = createQueueHealth({ look: () => Promise.resolve({ ...at.state, nowMs: at.ms }) }, metrics, {
    now: () => at.ms,
  });
  return { at, metrics, look: () => health.look() };
}

describe('R38: readiness and its gauges', () => {
  it('say that the oldest due job lies still', async () => {
    const { at, look, metrics } = world();
    at.state = { ...RESTING, overdue: 3, overdueMs: 30_000 };
    expect((await look()).ok).toBe(true);
    at.state = { ...RESTING, overdue: 3, overdueMs: 42_000 };
    expect(await look()).toMatchObject({ ok: false, overdueMs: 42_000, message: expect.stringContaining('42 s') });
    const text = await metrics.registry.metrics();
    expect(text).toContain('chat_recovery_overdue_seconds 42');
    expect(text).toContain('chat_recovery_overdue_jobs 3');
    expect(text).toContain('chat_recovery_workers_alive 1');
  });

  it('say so of a waiting job too, which carries no moment', async () => {
    const { at, look } = world();
    at.state = { ...RESTING, waiting: 1, oldestWaiting: 'x' };
    expect((await look()).ok).toBe(true);
    at.ms = 31_000;
    expect((await look()).ok).toBe(false);
  });

  it('say that no worker is alive, after the time that a start takes', async () => {
    const { at, look } = world();
    at.state = { ...RESTING, workers: [] };
    expect((await look()).ok).toBe(true);
    at.ms = 30_000;
    expect(await look()).toMatchObject({ ok: false, workersAlive: 0, message: expect.stringContaining('worker') });
    at.state = RESTING;
    expect((await look()).ok).toBe(true);
    at.ms = 59_000;
    at.state = { ...RESTING, workers: [] };
    expect((await look()).ok).toBe(true);
  });
});
