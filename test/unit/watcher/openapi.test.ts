import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { watcherOpenApiText } from '../../../services/watcher/openapi.ts';

test('docs/openapi/watcher.json is what the schemas say (npm run generate writes it)', () => {
  const file = readFileSync(new URL('../../../docs/openapi/watcher.json', import.meta.url), 'utf8');
  expect(file).toBe(watcherOpenApiText());
});

/** Files for browsers, not the API. */
const PAGES = new Set(['/', '/docs']);

test('every route that is made stands in the document, and none that is not', () => {
  const folder = new URL('../../../services/watcher/routes/', import.meta.url);
  const sources = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'));
  const made = sources
    .flatMap((source) => [...source.matchAll(/\.route\('([^']+)'\)/g)].map(([, path = '']) => path))
    .filter((path) => !PAGES.has(path))
    .map((path) => path.replaceAll(/:(\w+)/g, '{$1}'));
  const { paths } = JSON.parse(watcherOpenApiText()) as { paths: Record<string, unknown> };
  expect(made.length).toBeGreaterThan(15);
  expect(Object.keys(paths).toSorted()).toEqual([...new Set(made)].toSorted());
});
