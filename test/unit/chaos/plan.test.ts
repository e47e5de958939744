import { describe, expect, it } from 'vitest';
import { parseOptions } from '../../chaos/options.ts';
import { makePlan } from '../../chaos/plan.ts';
import { WINDOWS } from '../../chaos/plan-faults.ts';
import { KINDS } from '../../chaos/plan-chat.ts';

const planOf = (seed: number): string => JSON.stringify(makePlan({ seed, chats: 50, minutes: 1 }));

describe('the plan of a chaos run', () => {
  it('is the same for the same seed, and another for another', () => {
    expect(planOf(7)).toBe(planOf(7));
    expect(planOf(7)).not.toBe(planOf(8));
  });

  it('has every kind of chat, a last act and each window', () => {
    const { chats, lastAct, faults } = makePlan({ seed: 3, chats: 500, minutes: 3 });
    expect(new Set(chats.map(({ kind }) => kind))).toEqual(new Set(Object.keys(KINDS)));
    expect(chats.length + (lastAct[0]?.length ?? 0)).toBe(500);
    const windows = faults.flatMap((fault) => (fault.do === 'window' ? [fault.window] : []));
    expect(new Set(windows)).toEqual(new Set(WINDOWS));
  });
});

describe('its arguments', () => {
  it('are named where they are wrong', () => {
    expect(() => parseOptions(['--seed', 'x'])).toThrow('--seed');
    expect(() => parseOptions(['--break', 'everything'])).toThrow('claim, key, lookup, repeat');
    expect(parseOptions(['--seed', '4', '--break', 'key'])).toMatchObject({ seed: 4, sabotage: 'key' });
  });
});
