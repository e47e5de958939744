import { describe, expect, it } from 'vitest';
import type { Accepted } from '../../../services/watcher/deliveries.ts';
import { createRecent } from '../../../services/watcher/recent.ts';

const delivery = (deliveryId: string): Accepted => ({ deliveryId, server: { id: 'default' } }) as Accepted;

function world(most = 10) {
  const clock = { ms: 0 };
  const recent = createRecent({ keepMs: 120_000, most, now: () => clock.ms });
  return { clock, recent, ids: () => recent.all().map(({ deliveryId }) => deliveryId) };
}

describe('the deliveries of the last minutes', () => {
  it('stand in their order, a repeated one once', () => {
    const { recent, ids } = world();
    for (const id of ['a', 'b', 'a', 'c']) recent.add(delivery(id));
    expect(ids()).toEqual(['a', 'b', 'c']);
  });

  it('go when newer ones come after their time', () => {
    const { clock, recent, ids } = world();
    recent.add(delivery('a'));
    clock.ms = 120_001;
    recent.add(delivery('b'));
    expect(ids()).toEqual(['b']);
  });

  it('do not age while nothing is confirmed: an outage may be long', () => {
    const { clock, recent, ids } = world();
    recent.add(delivery('a'));
    clock.ms = 3_600_000;
    expect(ids()).toEqual(['a']);
  });

  it('are bounded, the newest kept', () => {
    const { recent, ids } = world(2);
    for (const id of ['a', 'b', 'c']) recent.add(delivery(id));
    expect(ids()).toEqual(['b', 'c']);
  });
});
