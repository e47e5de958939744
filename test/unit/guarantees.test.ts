import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const TESTS = fileURLToPath(new URL('../', import.meta.url));
const page = readFileSync(fileURLToPath(new URL('../../docs/guarantees.md', import.meta.url)), 'utf8');

/** The file behind a name like `integration/watcher/lost`; the fixtures' own number their cases in an index. */
const fileOf = (name: string): string => `${TESTS}${name}.test.ts`;
const namedIn = (text: string): string[] =>
  [...text.matchAll(/`((?:unit|integration|e2e)\/[\w/-]+)`/g)].map(([, name = '']) => name);
const rowOf = (report: string): string => page.split('\n').find((line) => line.startsWith(`| ${report} `)) ?? '';

describe('the page of guarantees', () => {
  test('names only tests that are there', () => {
    const gone = namedIn(page).filter((name) => !existsSync(fileOf(name)) && !existsSync(TESTS + name));
    expect(gone).toEqual([]);
  });

  test.for(Array.from({ length: 21 }, (_, index) => `R${29 + index}`))(
    '%s has a test that carries its number',
    (report) => {
      const files = namedIn(rowOf(report)).filter((name) => existsSync(fileOf(name)));
      expect(files.filter((name) => readFileSync(fileOf(name), 'utf8').includes(report))).not.toEqual([]);
    },
  );

  test('titles that it quotes are titles', () => {
    const table = page.slice(0, page.indexOf('## Redis fails over'));
    const quoted = [...table.matchAll(/(?<![\w`])_([^_]{12,}?)…?_(?![\w`])/g)].map(([, title = '']) => title);
    const sources = namedIn(page)
      .filter((name) => existsSync(fileOf(name)))
      .map((name) => readFileSync(fileOf(name), 'utf8'))
      .join('\n');
    expect(quoted.length).toBeGreaterThan(8);
    expect(quoted.filter((title) => !sources.includes(title))).toEqual([]);
  });
});
