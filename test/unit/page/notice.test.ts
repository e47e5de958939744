import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { noticeOf } from '../../../services/watcher/public/chat-recovery-notice.js';

const FILE = new URL('../../../services/watcher/public/chat-recovery-notice.js', import.meta.url);

const killed = {
  sessionId: '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11',
  state: 'killed',
  running: false,
  automatic: true,
  notice: { id: 'n', tasks: [] },
  settings: { values: { autoReDrive: false } },
  actions: { continue: { allowed: true } },
  trail: [{ kind: 'turn-ended' }, { kind: 'killed-task' }],
};
const line = (...kinds: string[]) => kinds.map((kind) => ({ kind }));
/** Only what the notice looks at is there. */
const told = (change: object) => noticeOf({ ...killed, ...change } as never);

describe('<chat-recovery-notice>', () => {
  it('is one file under 12 KB that imports nothing', () => {
    const text = readFileSync(FILE, 'utf8');
    expect(Buffer.byteLength(text)).toBeLessThan(12_000);
    const code = text.replaceAll(/\/\*[^]*?\*\//g, '');
    expect(code).not.toMatch(/^import |\bimport\(|innerHTML|insertAdjacentHTML/m);
  });

  it('offers Continue where a task was killed and nobody continues by itself', () => {
    expect(told({})).toEqual({ kind: 'killed', says: 'idle', offer: true });
  });

  it('says that recovery continues, unless it has said that it will not', () => {
    const settings = { values: { autoReDrive: true } };
    expect(told({ settings }).says).toBe('automatic');
    expect(told({ settings, automatic: false }).says).toBe('idle');
    expect(told({ settings, trail: line('killed-task', 'shown-only') }).says).toBe('idle');
  });

  it.each([
    ['exhausted', 'again'],
    ['unconfirmed', 'unconfirmed'],
    ['stuck', 'stuck'],
    ['stood-down', 'idle'],
  ])('%s is told as %s', (state, says) => expect(told({ state })).toMatchObject({ kind: 'killed', says }));

  it('explains without an offer where Continue is not allowed', () => {
    expect(told({ actions: { continue: { allowed: false } } })).toEqual({ kind: 'killed', says: 'idle', offer: false });
  });

  it('follows a nudge to its end, and is over with the next human message', () => {
    const after = { notice: null, state: 'recovered' };
    expect(told({ state: 'nudging' }).kind).toBe('working');
    expect(told({ state: 'nudged', trail: line('killed-task', 'nudged') }).kind).toBe('sent');
    expect(told({ ...after, running: true, trail: line('killed-task', 'nudged') }).kind).toBe('sent');
    expect(told({ ...after, trail: line('killed-task', 'nudged', 'recovered') }).kind).toBe('recovered');
    expect(told({ ...after, trail: line('nudged', 'recovered', 'human-message') }).kind).toBe('none');
  });

  it('says nothing of a chat that is well, or over', () => {
    expect(told({ notice: null, state: 'watching' }).kind).toBe('none');
    expect(told({ state: 'closed' }).kind).toBe('none');
  });
});
