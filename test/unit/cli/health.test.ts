import { expect, test } from 'vitest';
import { isOfHost } from '../../../cli/health/health.ts';

test.for([
  ['box:12:a1b2', 'box', true],
  ['box-2:12:a1b2', 'box', false],
  ['box:12:a1b2', 'bo', false],
] as const)('the worker %s on the host %s: %s', ([id, host, is]) => expect(isOfHost(id, host)).toBe(is));
