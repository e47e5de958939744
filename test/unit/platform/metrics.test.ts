import { expect, test } from 'vitest';
import { createMetrics } from '#shared/platform/metrics.js';

test('two processes’ worth of metrics live beside each other', async () => {
  const one = createMetrics();
  const two = createMetrics();
  one.webhooks.inc({ type: 'turn.ended', outcome: 'applied' });
  expect(await one.registry.metrics()).toContain('chat_recovery_webhooks_total{type="turn.ended",outcome="applied"} 1');
  expect(await two.registry.metrics()).not.toContain('outcome="applied"');
});

test('every name is ours and has a help text', async () => {
  const all = await createMetrics().registry.getMetricsAsJSON();
  expect(all.length).toBeGreaterThan(8);
  for (const metric of all) {
    expect(metric.name).toMatch(/^chat_recovery_/);
    expect(metric.help).toMatch(/\.$/);
  }
});
