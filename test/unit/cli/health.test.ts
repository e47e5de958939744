import { expect, test } from 'vitest';
import { hasWorkerFrom } from '../../../cli/health/health.ts';

const list = [
  'id=3 addr=172.18.0.4:51000 laddr=172.18.0.2:6379 fd=8 name=chat-recovery:worker:queue age=1',
  'id=4 addr=172.18.0.5:51001 laddr=172.18.0.2:6379 fd=9 name=watcher age=1',
  'id=5 addr=[::1]:51002 laddr=[::1]:6379 fd=10 name=other:worker:queue age=1',
].join('\n');

test('a worker of this host is well', () => {
  expect(hasWorkerFrom(list, 'chat-recovery:worker:', ['127.0.0.1', '172.18.0.4'])).toBe(true);
});

test('a worker of another host, or another part of this one, says nothing about it', () => {
  expect(hasWorkerFrom(list, 'chat-recovery:worker:', ['172.18.0.5'])).toBe(false);
});

test('an IPv6 address is compared without its brackets', () => {
  expect(hasWorkerFrom(list, 'other:worker:', ['::1'])).toBe(true);
});
