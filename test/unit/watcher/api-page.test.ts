import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { DELIVERY_REASONS } from '#shared/trail/reasons.js';

const root = new URL('../../../', import.meta.url);
const page = readFileSync(new URL('docs/api.md', root), 'utf8');

function sources(folder: URL): string {
  return readdirSync(folder, { withFileTypes: true })
    .map((entry) => {
      const url = new URL(entry.isDirectory() ? `${entry.name}/` : entry.name, folder);
      return entry.isDirectory() ? sources(url) : readFileSync(url, 'utf8');
    })
    .join('\n');
}

describe('docs/api.md', () => {
  test('each code that it names is one that the watcher gives', () => {
    const code = sources(new URL('services/watcher/', root));
    const named = [...page.matchAll(/^\| \d{3}[^|]*\|/gm)].flatMap(([row]) => [...row.matchAll(/`([a-z_]+)`/g)]);
    const unknown = named.map(([, name = '']) => name).filter((name) => !code.includes(`'${name}'`) && name !== 'part');
    expect(named.length).toBeGreaterThan(10);
    expect(unknown).toEqual([]);
  });

  test('each reason that it names for a delivery’s answer is one of them', () => {
    const table = page.slice(page.indexOf('| `reason`'), page.indexOf('**What to repeat.**'));
    const named = [...table.matchAll(/^\| `([a-z-]+)` +\|/gm)]
      .map(([, name = '']) => name)
      .filter((name) => name !== 'reason');
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !Object.hasOwn(DELIVERY_REASONS, name))).toEqual([]);
  });
});
