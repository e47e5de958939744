import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { SCRIPTS } from '../../../examples/chat-server/scripts.ts';
import { CONFLICT_CODES, SESSION_API_STATES } from '#shared/session-api/contract.js';
import { CAUSES, CLOSE_REASONS, LIFECYCLE_TYPES } from '#shared/session/events.js';

const read = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
/** First cells of the table rows that begin with a code word. */
const rows = (text: string): string[] => [...text.matchAll(/^\s*\|\s*`([^`]+)`/gm)].flatMap(([, name]) => name ?? []);

describe('the documents for a chat server’s author name what the code has', () => {
  test('README: every script, and no other', () => {
    const scripts = rows(read('examples/chat-server/README.md')).filter((name) => !name.includes(' '));
    expect(scripts).toEqual(Object.keys(SCRIPTS).toSorted((a, b) => scripts.indexOf(a) - scripts.indexOf(b)));
    expect(scripts).toHaveLength(Object.keys(SCRIPTS).length);
  });

  test('webhooks.md: every type, cause and reason', () => {
    const text = read('docs/webhooks.md');
    expect(rows(text)).toEqual([...LIFECYCLE_TYPES].toSorted((a, b) => rows(text).indexOf(a) - rows(text).indexOf(b)));
    for (const word of [...CAUSES, ...CLOSE_REASONS]) expect(text).toContain(`\`${word}\``);
  });

  test('session-api.md: every state and conflict', () => {
    expect(rows(read('docs/session-api.md'))).toEqual(
      expect.arrayContaining([...SESSION_API_STATES, ...CONFLICT_CODES]),
    );
  });
});
