import { expect, test } from 'vitest';
import { RECOVERY_DEFAULTS } from '#shared/settings/recovery.js';
import { arming } from '../../../services/watcher/arming.ts';

const turn = (
  driveMode: 'session' | 'batch' = 'session',
  outcome: 'completed' | 'interrupted' | 'failed' = 'completed',
) => ({
  driveMode,
  outcome,
});
const settings = (surfaceKilledTask: boolean, autoReDrive: boolean) => ({
  ...RECOVERY_DEFAULTS,
  surfaceKilledTask,
  autoReDrive,
});

test.for([
  ['both layers', turn(), settings(true, true), { armed: true, auto: true, reason: 'armed' }],
  ['a failed turn', turn('session', 'failed'), settings(true, true), { armed: true, auto: true, reason: 'armed' }],
  ['only Layer 3', turn(), settings(false, true), { armed: true, auto: true, reason: 'armed' }],
  ['only Layer 2', turn(), settings(true, false), { armed: true, auto: true, reason: 'surface-only' }],
  ['neither', turn(), settings(false, false), { armed: false, auto: false, reason: 'layers-off' }],
  ['batch', turn('batch'), settings(true, true), { armed: false, auto: false, reason: 'batch-mode' }],
  [
    'interrupted',
    turn('session', 'interrupted'),
    settings(true, true),
    { armed: true, auto: false, reason: 'user-interrupted' },
  ],
  [
    'interrupted, layers off',
    turn('session', 'interrupted'),
    settings(false, false),
    { armed: false, auto: false, reason: 'layers-off' },
  ],
] as const)('%s', ([, turnEnd, values, wanted]) => {
  expect(arming(turnEnd, values)).toEqual(wanted);
});
