import { Problem } from '#shared/platform/problem.js';
import { acceptDelivery, type DeliveryParts } from './deliveries.ts';

/**
 * Applies the deliveries of the last minutes once more, in their order. Throws the connection's error when Redis is away;
 * starting over does no harm. Resolves with how many had been lost.
 */
export async function replayRecent(parts: DeliveryParts, signal: AbortSignal): Promise<number> {
  let lost = 0;
  for (const accepted of parts.recent.all()) {
    if (signal.aborted) break;
    try {
      const { duplicate } = await acceptDelivery(parts, accepted);
      if (duplicate === undefined) lost += 1;
    } catch (error) {
      // What is refused now (another owner, a path that has gone) was answered long ago.
      if (!(error instanceof Problem)) throw error;
      parts.core.log.debug({ cid: accepted.cid, err: error }, 'A delivery is refused at its repeat.');
    }
  }
  if (lost > 0)
    parts.core.log.warn({ deliveries: lost }, 'Redis had lost confirmed deliveries; they were applied again.');
  return lost;
}
