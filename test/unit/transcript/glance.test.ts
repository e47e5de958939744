import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FileMark, TranscriptSource } from '#shared/transcript/finding.js';
import { glance } from '#shared/transcript/glance.js';
import { sessionIdOf } from '#shared/transcript/session-of.js';
import { createMemorySource } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import { contextOf } from '../../support/chat-lines.ts';

const PATH = '/t/chat.jsonl';
const FIXTURES = join(import.meta.dirname, '../../fixtures');

const sourceOf = (content: Buffer): TranscriptSource => createMemorySource(new Map([[PATH, content]]));
const markOf = (size: number): FileMark => ({ size, mtimeMs: 0, ino: 0 });

/** Whether a glance at `after`, appended to `before`, says that it may matter. */
const mayMatter = async (before: string, after: string, since = markOf(Buffer.byteLength(before))): Promise<boolean> =>
  (await glance(sourceOf(Buffer.from(before + after)), PATH, since)) === undefined;

const SETTLED = '{"type":"assistant"}\n';
const NOTICE = '{"type":"queue-operation","content":"<task-notification>\\n<status>killed</status>"}\n';

describe('a glance at what was appended', () => {
  it('knows the file again where no notification is in it', async () => {
    const after = '{"type":"user","text":"\\u001b[32mgreen\\u001b[0m, été"}\n{"type":"assistant"}\n';
    const mark = await glance(sourceOf(Buffer.from(SETTLED + after)), PATH, markOf(SETTLED.length));
    expect(mark).toEqual(markOf(Buffer.byteLength(SETTLED + after)));
  });

  it.for([
    ['a notification', SETTLED, NOTICE],
    ['in capitals', SETTLED, NOTICE.toUpperCase()],
    ['with an escaped letter', SETTLED, NOTICE.replace('<task', '<\\u0074ask')],
    ['with an escaped bracket', SETTLED, NOTICE.replace('<task', '\\u003ctask')],
    ['the end of one whose beginning was there', SETTLED + NOTICE.slice(0, 60), NOTICE.slice(60)],
    ['anything behind half a line', SETTLED + '{"type":', '"user"}\n'],
    ['anything in a file that was empty', '', SETTLED],
    ['nothing at all', SETTLED, ''],
    ['more than it reads', SETTLED, ' '.repeat(64 * 1_024 + 1)],
  ] as const)('reads on: %s', async ([, before, after]) => {
    expect(await mayMatter(before, after)).toBe(true);
  });

  it('reads on where the file is another, shorter, or gone', async () => {
    expect(await mayMatter(SETTLED, SETTLED, { ...markOf(SETTLED.length), ino: 7 })).toBe(true);
    expect(await mayMatter(SETTLED, SETTLED, markOf(1_000))).toBe(true);
    expect(await glance(createMemorySource(new Map()), PATH, markOf(3))).toBeUndefined();
  });
});

/** Ends of lines, as offsets. */
const boundariesOf = (content: Buffer): number[] => {
  const found: number[] = [];
  for (let at = content.indexOf(0x0a); at !== -1; at = content.indexOf(0x0a, at + 1)) found.push(at + 1);
  return found;
};

/** Whether nothing terminated stands un-answered in the first `size` bytes. */
async function isQuiet(content: Buffer, size: number, sessionId: string): Promise<boolean> {
  const outcome = await readFinding(sourceOf(content.subarray(0, size)), PATH, contextOf({ sessionId }));
  return outcome.kind === 'read' && outcome.finding.kind === 'settled' && outcome.finding.noticeId === undefined;
}

const transcripts = ['transcripts', 'cases']
  .flatMap((folder) =>
    readdirSync(join(FIXTURES, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  )
  .filter((name) => name.endsWith('.jsonl'));

describe('no notification is ever passed over', () => {
  it(`in ${transcripts.length} transcripts, wherever they were judged before`, async () => {
    let passedOver = 0;
    for (const name of transcripts) {
      const content = readFileSync(join(FIXTURES, name));
      const sessionId = (await sessionIdOf(sourceOf(content), PATH)) ?? '';
      const ends = boundariesOf(content);
      for (const [n, end] of ends.slice(0, -1).entries()) {
        const next = ends[n + 1] ?? end;
        if (!(await isQuiet(content, end, sessionId))) continue;
        if ((await glance(sourceOf(content.subarray(0, next)), PATH, markOf(end))) === undefined) continue;
        passedOver += 1;
        expect({ name, next, quiet: await isQuiet(content, next, sessionId) }).toEqual({ name, next, quiet: true });
      }
    }
    // It is worth its while.
    expect(passedOver).toBeGreaterThan(500);
  });
});
