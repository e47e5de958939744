import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCount, parseDuration, parseSize, showDuration, showSize } from '#shared/settings/durations.js';

describe('durations', () => {
  it.each([
    ['0', 0],
    ['5000', 5_000],
    [5_000, 5_000],
    ['500ms', 500],
    ['10s', 10_000],
    [' 5m ', 300_000],
    ['24H', 86_400_000],
    ['7 d', 604_800_000],
  ])('%j is %d ms', (given, ms) => expect(parseDuration(given)).toBe(ms));

  it.each([
    '',
    ' ',
    '-1',
    '+5',
    '1.5s',
    '1e3',
    '0x10',
    '5w',
    's',
    '5 5',
    '1_000',
    Number.NaN,
    -1,
    0.5,
    null,
    true,
    [],
    '9'.repeat(20),
  ])('%j is none', (given) => expect(parseDuration(given)).toBeUndefined());

  it('are shown so that they are read back the same', () => {
    fc.assert(fc.property(fc.nat({ max: 2 ** 40 }), (ms) => parseDuration(showDuration(ms)) === ms));
    expect(showDuration(604_800_000)).toBe('7d');
    expect(showDuration(1_500)).toBe('1500ms');
  });
});

describe('sizes', () => {
  it.each([
    ['64MB', 67_108_864],
    ['64 kb', 65_536],
    ['12', 12],
    [12, 12],
    ['1GB', 1_073_741_824],
  ])('%j is %d bytes', (given, bytes) => expect(parseSize(given)).toBe(bytes));

  it.each(['64M', 'MB', '-1', '1.5MB', '5s'])('%j is none', (given) => expect(parseSize(given)).toBeUndefined());

  it('are shown so that they are read back the same', () => {
    fc.assert(fc.property(fc.nat({ max: 2 ** 40 }), (bytes) => parseSize(showSize(bytes)) === bytes));
    expect(showSize(67_108_864)).toBe('64MB');
    expect(showSize(1_000)).toBe('1000');
  });
});

describe('counts', () => {
  it.each([
    ['3', 3],
    [3, 3],
    ['007', 7],
  ])('%j is %d', (given, count) => expect(parseCount(given)).toBe(count));
  it.each(['3s', '-3', '3.0', '', 'x', -3, 1.5])('%j is none', (given) => expect(parseCount(given)).toBeUndefined());
});
