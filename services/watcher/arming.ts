import type { LifecycleEvent } from '#shared/session/events.js';
import type { RecoverySettings } from '#shared/settings/recovery.js';
import type { DeliveryReason } from '#shared/trail/reasons.js';

/** What a turn end arms. */
export interface Arming {
  /** A watch begins. */
  armed: boolean;
  /** Layer 3 may act on what it sees, as far as the turn itself is concerned. */
  auto: boolean;
  reason: DeliveryReason;
}

type TurnEnd = Extract<LifecycleEvent, { type: 'turn.ended' }>['data'];

/**
 * What a turn end arms under the project's settings (SPEC §4.1).
 *
 * `auto` is false only for what no later change of the settings can alter: the turn's own nature. With automatic recovery
 * merely switched off the reason says so, and a watch that is armed already follows the switch when it is turned on.
 */
export function arming(turn: Pick<TurnEnd, 'driveMode' | 'outcome'>, settings: RecoverySettings): Arming {
  if (turn.driveMode === 'batch') return { armed: false, auto: false, reason: 'batch-mode' };
  if (!settings.surfaceKilledTask && !settings.autoReDrive) return { armed: false, auto: false, reason: 'layers-off' };
  if (turn.outcome === 'interrupted') return { armed: true, auto: false, reason: 'user-interrupted' };
  if (!settings.autoReDrive) return { armed: true, auto: true, reason: 'surface-only' };
  return { armed: true, auto: true, reason: 'armed' };
}
