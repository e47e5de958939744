import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type TranscriptRoot, confine, confineOrRefuse, defaultPath, locate } from '#shared/transcript/locate.js';
import { OTHER_SESSION, SESSION } from '../../support/chat-lines.ts';

let base: string;
let root: string;
let outside: string;
let roots: TranscriptRoot[];
const NAME = `${SESSION}.jsonl`;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'chat-recovery-locate-')));
  root = join(base, 'projects');
  outside = join(base, 'outside');
  mkdirSync(join(root, 'p1'), { recursive: true });
  mkdirSync(outside);
  roots = [{ theirs: root, ours: root }];
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const write = (...parts: string[]): string => {
  const path = join(...parts);
  writeFileSync(path, '');
  return path;
};

describe('a path is confined to the roots', () => {
  test('a file below a root, and one that does not exist yet', async () => {
    const path = write(root, 'p1', NAME);
    expect(await confine(path, roots)).toBe(path);
    expect(await confine(join(root, 'new', 'deep', NAME), roots)).toBe(join(root, 'new', 'deep', NAME));
  });

  test('through a linked folder that leads to another root', async () => {
    const chats = join(base, 'project', '.chats');
    mkdirSync(chats, { recursive: true });
    symlinkSync(chats, join(root, 'linked'));
    expect(await confineOrRefuse(join(root, 'linked', NAME), roots)).toEqual({ refused: 'outside-roots' });
    const both = [...roots, { theirs: chats, ours: chats }];
    expect(await confine(join(root, 'linked', NAME), both)).toBe(join(chats, NAME));
  });

  test('a root that is itself a link', async () => {
    symlinkSync(root, join(base, 'link'));
    const linked = [{ theirs: join(base, 'link'), ours: join(base, 'link') }];
    expect(await confine(join(base, 'link', 'p1', NAME), linked)).toBe(join(root, 'p1', NAME));
    expect(await confine(join(root, 'p1', NAME), linked)).toBe(join(root, 'p1', NAME));
  });

  test('the sender’s root is mapped to ours, the most specific first', async () => {
    const mapped = [
      { theirs: '/home/chat', ours: outside },
      { theirs: '/home/chat/projects', ours: root },
    ];
    expect(await confine(`/home/chat/projects/p1/${NAME}`, mapped)).toBe(join(root, 'p1', NAME));
    expect(await confine(`/home/chat/projectsX/${NAME}`, mapped)).toBe(join(outside, 'projectsX', NAME));
  });

  test.each([
    ['a relative path', () => `p1/${NAME}`, 'not-absolute'],
    ['dots', () => `${root}/p1/../../outside/x.jsonl`, 'odd-path'],
    ['a NUL', () => `${root}/p1/x\0.jsonl`, 'odd-path'],
    ['another place', () => join(outside, NAME), 'outside-roots'],
    ['a name that only begins like a root', () => `${root}-other/${NAME}`, 'outside-roots'],
    ['a sub-agent’s file', () => join(root, 'p1', SESSION, 'subagents', 'agent-1.jsonl'), 'sub-agent'],
    ['a sub-agent’s file beside the chats', () => join(root, 'p1', 'agent-1.jsonl'), 'sub-agent'],
  ])('refuses %s', async (_, path, refused) => {
    expect(await confineOrRefuse(path(), roots)).toEqual({ refused });
    expect(await confine(path(), roots)).toBeUndefined();
  });

  test('refuses a link that leaves the roots, also one whose target does not exist yet', async () => {
    write(outside, 'secret.jsonl');
    symlinkSync(join(outside, 'secret.jsonl'), join(root, 'p1', NAME));
    symlinkSync(join(outside, 'later.jsonl'), join(root, 'p1', 'later.jsonl'));
    symlinkSync('loop', join(root, 'p1', 'loop'));
    for (const name of [NAME, 'later.jsonl']) {
      expect(await confineOrRefuse(join(root, 'p1', name), roots)).toEqual({ refused: 'outside-roots' });
    }
    expect(await confineOrRefuse(join(root, 'p1', 'loop'), roots)).toEqual({ refused: 'unresolvable' });
    write(root, 'plain');
    expect(await confineOrRefuse(join(root, 'plain', NAME), roots)).toEqual({ refused: 'unresolvable' });
  });
});

describe('a session’s file is looked up again', () => {
  test('under any project of any root, the newest of several', async () => {
    const old = write(root, 'p1', NAME);
    utimesSync(old, 1, 1);
    mkdirSync(join(root, 'p2'));
    const moved = write(root, 'p2', NAME);
    expect(await locate(SESSION, roots)).toBe(moved);
    expect(await locate(OTHER_SESSION, roots)).toBeUndefined();
    expect(await locate(SESSION, [{ theirs: '/nowhere', ours: '/nowhere' }, ...roots])).toBe(moved);
  });

  test('through a linked folder only where that is below a root', async () => {
    write(outside, NAME);
    symlinkSync(outside, join(root, 'linked'));
    expect(await locate(SESSION, roots)).toBeUndefined();
    expect(await locate(SESSION, [...roots, { theirs: outside, ours: outside }])).toBe(join(outside, NAME));
  });

  test('never among sub-agents’ files, never by an odd id, never round in circles', async () => {
    mkdirSync(join(root, 'p1', 'subagents'));
    write(root, 'p1', 'subagents', NAME);
    symlinkSync(root, join(root, 'p1', 'back'));
    expect(await locate(SESSION, roots)).toBeUndefined();
    expect(await locate('../outside/x', roots)).toBeUndefined();
  });
});

test('the default path names the working directory with every other character as a dash', () => {
  expect(defaultPath('/home/u/.claude', '/srv/my.app/ü_1', SESSION)).toBe(
    `/home/u/.claude/projects/-srv-my-app---1/${SESSION}.jsonl`,
  );
});
