import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { OBSERVATIONS, REASONS, VERDICTS } from '#shared/transcript/finding.js';

const ROOT = join(import.meta.dirname, '../../..');
const verdicts = readFileSync(join(ROOT, 'docs/verdicts.md'), 'utf8');

/** Code and words of each table row of the page. */
const rows = [...verdicts.matchAll(/^\| `([\w-]+)` +\| (.+?) +\|$/gm)].map((match) => [match[1], match[2]] as const);

test('every reason is documented once, in the words of the code, and nothing else is', () => {
  const documented = rows.filter(([code]) => !(OBSERVATIONS as readonly string[]).includes(code ?? ''));
  expect(Object.fromEntries(documented)).toEqual(REASONS);
  expect(documented).toHaveLength(Object.keys(REASONS).length);
});

test('every observation and every verdict is documented', () => {
  const codes = rows.map(([code]) => code);
  for (const name of OBSERVATIONS) expect(codes).toContain(name);
  for (const verdict of VERDICTS) expect(verdicts).toContain(`## \`${verdict}\``);
});

test('the table of versions has a row for each recorded version', () => {
  const drift = readFileSync(join(ROOT, 'docs/format-drift.md'), 'utf8');
  for (const version of readdirSync(join(ROOT, 'test/fixtures/transcripts')))
    expect(drift).toContain(`\n| ${version} `);
});
