import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '#shared/platform/metrics.js';
import { createCounter } from '../../../services/watcher/counting.ts';

const read = (file: string): string =>
  readFileSync(new URL(`../../../docs/observability/${file}`, import.meta.url), 'utf8');

/** Every name that a scrape of a watcher or worker can hold. */
async function known(): Promise<Set<string>> {
  const metrics = createMetrics({ processMetrics: true });
  createCounter(metrics);
  const families = await metrics.registry.getMetricsAsJSON();
  metrics.registry.clear();
  const suffixes = (type: string): string[] => (type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']);
  return new Set(families.flatMap(({ name, type }) => suffixes(String(type)).map((suffix) => `${name}${suffix}`)));
}

const named = (text: string): string[] => [...new Set(text.match(/chat_recovery_\w+/g))];

describe('docs/observability', () => {
  test.for(['dashboard.json', 'alerts.yaml'])('every metric that %s names exists', async (file) => {
    const exists = await known();
    expect(named(read(file)).length).toBeGreaterThan(8);
    expect(named(read(file)).filter((name) => !exists.has(name))).toEqual([]);
  });

  test('the dashboard shows each of our own metrics', async () => {
    const own = [...(await known())]
      .filter((name) => !/_(process|nodejs)_/.test(name))
      .map((name) => name.replace(/_(bucket|sum|count)$/, ''));
    const shown = read('dashboard.json');
    expect(
      [...new Set(own)].filter((name) => !shown.includes(name) && name !== 'chat_recovery_evaluations_planned_total'),
    ).toEqual([]);
  });

  test('each alert says what is wrong and what to do', () => {
    const { groups } = parse(read('alerts.yaml')) as {
      groups: { rules: { alert: string; expr: string; annotations: Record<string, string> }[] }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(8);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, expr, annotations } of rules) {
      expect({
        alert,
        expr: expr.length > 10,
        summary: annotations['summary'],
        description: annotations['description'],
      }).toEqual({
        alert,
        expr: true,
        summary: expect.stringMatching(/\w/),
        description: expect.stringMatching(/\w/),
      });
    }
  });
});
