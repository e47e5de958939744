import { expect, it } from 'vitest';
import { readPath, storedPath } from '#shared/session/codec.js';

const id = 'a0000000-0000-4000-8000-00000000000a';

it.each([
  ['the session’s own file', `/home/someone/.claude/projects/-x/${id}.jsonl`, '/home/someone/.claude/projects/-x/'],
  ['a file at the root', `/${id}.jsonl`, '/'],
  ['a file of another name', '/t/chat.jsonl', '/t/chat.jsonl'],
  ['a name that only ends so', `/t/x${id}.jsonl`, `/t/x${id}.jsonl`],
  ['no path', '', ''],
])('%s is stored short and read whole', (_what, path, stored) => {
  expect(storedPath(id, path)).toBe(stored);
  expect(readPath(id, stored)).toBe(path);
});

it('what is not stored stays unknown', () => expect(readPath(id, undefined)).toBeUndefined());
