import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SETTINGS_CATALOGUE } from '#shared/settings/catalogue.js';
import { DECISION_REASONS, DELIVERY_REASONS } from '#shared/trail/reasons.js';

const docs = new URL('../../docs/', import.meta.url);
const read = (page: string): string => readFileSync(new URL(page, docs), 'utf8');
const PAGES = ['install.md', 'tune.md', 'operate.md', 'troubleshoot.md', 'security.md', 'observability/README.md'];

describe('docs by task', () => {
  test.for(PAGES)('%s: each variable that it names is a setting', (page) => {
    const known = new Set(SETTINGS_CATALOGUE.map(({ variable }) => variable));
    // Read by compose, by Node and by the OpenTelemetry SDK.
    for (const other of ['TRANSCRIPTS_DIR', 'NODE_OPTIONS', 'OTEL_EXPORTER_OTLP_ENDPOINT']) known.add(other);
    const named = [...read(page).matchAll(/\b([A-Z]{2,}(?:_[A-Z]+)+)\b/g)].map(([, name = '']) => name);
    expect([...new Set(named)].filter((name) => !known.has(name))).toEqual([]);
  });

  test('each link to a file leads to one', () => {
    const broken = [...PAGES, 'api.md', 'settings.md', 'webhooks.md', 'session-api.md'].flatMap((page) =>
      [...read(page).matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target = '']) => target)
        .filter((target) => !existsSync(new URL(target, new URL(page, docs))))
        .map((target) => `${page}: ${target}`),
    );
    expect(broken).toEqual([]);
  });

  test('"why was my chat not nudged?" answers nearly every reason there is, and none that there is not', () => {
    const text = read('troubleshoot.md');
    const table = text.slice(text.indexOf('| reason'), text.indexOf('## It was nudged'));
    const named = [...table.matchAll(/^\|([^|]+)\|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([a-z-]+)`/g)].map(([, code = '']) => code),
    );
    const reasons = Object.keys(DECISION_REASONS);
    expect(named.filter((code) => !reasons.includes(code) && !Object.hasOwn(DELIVERY_REASONS, code))).toEqual([]);
    expect(reasons.filter((code) => named.includes(code)).length / reasons.length).toBeGreaterThan(0.85);
  });
});
