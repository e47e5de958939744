import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createTicker, type Ticker } from '#shared/platform/ticker.js';

let clocks = { monotonic: 0, wall: 0 };
let ticker: Ticker;

beforeEach(() => {
  vi.useFakeTimers();
  clocks = { monotonic: 1_000, wall: 1_700_000_000_000 };
  ticker = createTicker({ monotonicNow: () => clocks.monotonic, wallNow: () => clocks.wall });
});
afterEach(() => {
  ticker.stop();
  vi.useRealTimers();
});

function pass(monotonicMs: number, wallMs = monotonicMs): void {
  clocks = { monotonic: clocks.monotonic + monotonicMs, wall: clocks.wall + wallMs };
}

/** `seconds` ordinary ticks. */
function run(seconds: number): void {
  for (let second = 0; second < seconds; second += 1) {
    pass(1_000);
    vi.advanceTimersByTime(1_000);
  }
}

test('an even clock is no gap', () => {
  run(60);
  expect(ticker.lastGapAgoMs()).toBeUndefined();
});

test('a tick up to ten seconds late is no gap', () => {
  pass(11_000);
  expect(ticker.lastGapAgoMs()).toBeUndefined();
});

test('a tick more than ten seconds late is one, also when the question comes before the tick', () => {
  pass(11_001);
  expect(ticker.lastGapAgoMs()).toBe(0);
});

test('a wall clock that ran ahead of the monotonic one is one: the machine was suspended', () => {
  pass(1_000, 1_000 + 10_001);
  expect(ticker.lastGapAgoMs()).toBe(0);
});

test('a wall clock that was set back is none', () => {
  pass(1_000, -3_600_000);
  expect(ticker.lastGapAgoMs()).toBeUndefined();
});

test('the age of the gap counts on the monotonic clock', () => {
  pass(60_000);
  vi.advanceTimersByTime(1_000);
  run(5);
  expect(ticker.lastGapAgoMs()).toBe(5_000);
});

test('the question itself does not make the next tick look late or early', () => {
  run(3);
  pass(500);
  ticker.lastGapAgoMs();
  pass(500);
  vi.advanceTimersByTime(1_000);
  expect(ticker.lastGapAgoMs()).toBeUndefined();
});
