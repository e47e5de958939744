import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { watcherOpenApiText } from '../../../services/watcher/openapi.ts';

test('docs/openapi/watcher.json is what the schemas say (npm run generate writes it)', () => {
  const file = readFileSync(new URL('../../../docs/openapi/watcher.json', import.meta.url), 'utf8');
  expect(file).toBe(watcherOpenApiText());
});
