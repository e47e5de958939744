import { expect, test } from 'vitest';
import { collapseErrors } from '#shared/platform/collapse.js';

function collapser() {
  const reports: [string, number][] = [];
  const clock = { now: 0 };
  const note = collapseErrors({
    report: (error, leftOut) => reports.push([error.message, leftOut]),
    intervalMs: 1_000,
    now: () => clock.now,
  });
  return { reports, clock, note };
}

test('the first error is told at once, the next ones as a count after the interval', () => {
  const { reports, clock, note } = collapser();
  for (let ms = 0; ms < 1_000; ms += 100) {
    clock.now = ms;
    note(new Error('ECONNREFUSED'));
  }
  clock.now = 1_000;
  note(new Error('ECONNREFUSED'));
  expect(reports).toEqual([
    ['ECONNREFUSED', 0],
    ['ECONNREFUSED', 9],
  ]);
});

test('another error is told at once', () => {
  const { reports, note } = collapser();
  note(new Error('ECONNREFUSED'));
  note(new Error('NOREPLICAS'));
  expect(reports.map(([message]) => message)).toEqual(['ECONNREFUSED', 'NOREPLICAS']);
});

test('ever new messages do not grow the memory', () => {
  const { reports, note } = collapser();
  for (let port = 0; port < 1_000; port += 1) note(new Error(`port ${port}`));
  expect(reports).toHaveLength(1_000);
  note(new Error('port 0'));
  expect(reports).toHaveLength(1_001);
});
