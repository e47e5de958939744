import { describe, expect, it } from 'vitest';
import { mayHoldAnother } from '#shared/transcript/head.js';

const INERT = '{"type":"last-prompt","lastPrompt":"';

describe('a record that is glued to the end of an inert line', () => {
  it.for([0, 1, 31, 32, 33, 500])('is found behind %i braces, and they alone are none', (count) => {
    const torn = `${INERT}${'{'.repeat(count)}`;
    const found = (text: string): boolean => mayHoldAnother(Buffer.from(text), INERT.length);
    expect(found(torn)).toBe(false);
    expect(found(`${torn}{"type":"progress","content":"x"}`)).toBe(false);
    expect(found(`${torn}{"type":"queue-operation","content":"x"}`)).toBe(true);
    expect(found(`${torn}{ "type":"user"}`)).toBe(false);
    expect(found(`${torn}{"parentUuid":null,"type":"user"}`)).toBe(true);
  });
});
