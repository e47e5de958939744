import {
  appendFileSync,
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ReadOutcome, TranscriptSource, TranscriptView } from '#shared/transcript/finding.js';
import { createMemorySource, localFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import { type ChatLines, SESSION, chat, contextOf, findingIn, outcomeOf, verdictIn } from '../../support/chat-lines.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chat-recovery-reader-'));
  file = join(folder, `${SESSION}.jsonl`);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const hung = (): ChatLines => chat().turn().kill();
const longFile = (lines: ChatLines): Buffer => lines.entry({ type: 'mode', mode: 'x'.repeat(60_000) }).bytes();
const reasonIn = async (lines: ChatLines): Promise<string> => (await findingIn(lines)).reason;

/** A full collection, so that what is measured is what is held. */
const collectGarbage = (): void => {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc()');
};

const read = (path = file, source: TranscriptSource = localFiles): Promise<ReadOutcome> =>
  readFinding(source, path, contextOf());
const reasonOf = (outcome: ReadOutcome): string => (outcome.kind === 'read' ? outcome.finding.reason : outcome.kind);

/** Local files whose reads are disturbed: `before` runs ahead of the n-th read of each opened file. */
const disturbed = (before: (read: number, opened: number) => void): TranscriptSource => {
  let opened = 0;
  return {
    async open(path) {
      const view = await localFiles.open(path);
      if (!('mark' in view)) return view;
      opened += 1;
      const nth = opened;
      let reads = 0;
      const wrapped: TranscriptView = {
        ...view,
        readAt(offset, length) {
          reads += 1;
          before(reads, nth);
          return view.readAt(offset, length);
        },
      };
      return wrapped;
    },
  };
};

describe('lines as they are found on disks (R25)', () => {
  test('torn, glued, NUL, junk, blank and non-object lines are skipped and counted', async () => {
    const lines = chat().turn();
    for (const bad of ['{"type":"user","mess', '\0'.repeat(64), 'junk', '', '[1,2]', 'null', '"text"']) lines.raw(bad);
    const outcome = await outcomeOf(lines.kill());
    expect(outcome).toMatchObject({ kind: 'read', skippedLines: 7, finding: { reason: 'killed-unanswered' } });
  });

  test('an unterminated last line is no evidence yet, and is the next time', async () => {
    const whole = hung().bytes();
    writeFileSync(file, whole.subarray(0, -1));
    expect(reasonOf(await read())).toBe('no-notification');
    appendFileSync(file, '\n');
    expect(reasonOf(await read())).toBe('killed-unanswered');
  });

  test('a byte-order mark, CRLF, a kill as the very first line, and an empty file', async () => {
    const crlf = Buffer.from(`\uFEFF${hung().lines.join('\r\n')}\r\n`);
    expect(await verdictIn(crlf)).toBe('hung: killed-unanswered');
    expect(await verdictIn(Buffer.from(`\uFEFF${chat().kill().bytes().toString()}`))).toBe('hung: killed-unanswered');
    expect(await verdictIn(Buffer.alloc(0))).toBe('not-hung: no-notification');
    expect(await verdictIn(Buffer.from('\n\n'))).toBe('not-hung: no-notification');
  });
});

describe('huge files and lines (R26)', () => {
  test('reads no more than the way from the launch to the end and one block', async () => {
    const before = chat();
    for (let n = 0; n < 2_000; n += 1) before.human(`Question ${n} ${'x'.repeat(500)}`).reply();
    const lines = before.turn();
    for (let n = 0; n < 100; n += 1) lines.entry({ type: 'last-prompt', lastPrompt: 'y'.repeat(1_000) });
    lines.kill();
    const outcome = await outcomeOf(lines);
    if (outcome.kind !== 'read') throw new Error(outcome.kind);
    const launch = outcome.finding.evidence.find(({ note }) => note === 'launch of task b1');
    const distance = outcome.file.size - (launch?.offset ?? 0);
    expect(outcome.bytesRead).toBeLessThanOrEqual(distance + 64 * 1_024);
    expect(outcome.finding).toMatchObject({ kind: 'pending', historyComplete: true });
  });

  test('an answered chat costs one block, however long its file', async () => {
    writeFileSync(file, '');
    truncateSync(file, 1_024 ** 3);
    appendFileSync(file, `\n${chat().turn().kill().nudge().reply().bytes().toString()}`);
    expect(await read()).toMatchObject({ kind: 'read', bytesRead: 16 * 1_024, finding: { reason: 'answered' } });
  });

  test('an inert line of 20 MB behind the kill is passed over in bounded memory', async () => {
    writeFileSync(file, hung().bytes());
    const piece = 'z'.repeat(1_024 * 1_024);
    appendFileSync(file, '{"type":"api-request-blob","blob":"');
    for (let n = 0; n < 20; n += 1) appendFileSync(file, piece);
    appendFileSync(file, `","sessionId":"${SESSION}"}\n`);
    collectGarbage();
    const { arrayBuffers } = process.memoryUsage();
    let most = 0;
    const source = disturbed((nth) => {
      if (nth % 64 !== 0) return;
      collectGarbage();
      most = Math.max(most, process.memoryUsage().arrayBuffers);
    });
    const outcome = await read(file, source);
    expect(outcome).toMatchObject({ kind: 'read', skippedLines: 1, finding: { reason: 'killed-unanswered' } });
    expect(most - arrayBuffers).toBeLessThan(8 * 1_024 * 1_024);
  });

  test('a tool result, a reply and a prompt too long to be held still count', async () => {
    const long = 'w'.repeat(5 * 1_024 * 1_024);
    const woken = (): ChatLines => hung().delivered();
    expect(await reasonIn(woken().call('t9').result('t9', {}, { content: long }))).toBe('open-turn');
    expect(await reasonIn(woken().reply(long))).toBe('open-turn');
    expect(await reasonIn(woken().reply(long).reply())).toBe('answered');
    expect(await reasonIn(hung().human(long))).toBe('human-prompt-pending');
    expect(await reasonIn(hung().enqueue(long))).toBe('human-prompt-pending');
    expect(await reasonIn(woken().reply(long, { isSidechain: true }))).toBe('wake-lost');
    expect(await reasonIn(hung().user(long, { isCompactSummary: true }))).toBe('killed-unanswered');
  });

  test('over the scan limit nothing is determined', async () => {
    const lines = hung().entry({ type: 'mode', mode: 'x'.repeat(300_000) });
    const outcome = await outcomeOf(lines, { scanLimitBytes: 100_000 });
    expect(outcome).toMatchObject({ kind: 'undetermined', why: 'scan-limit' });
    expect(outcome.kind === 'undetermined' && outcome.bytesRead).toBeLessThan(140_000);
  });

  test('the limit does not undo a verdict that is certain: only the history is cut', async () => {
    const lines = chat()
      .human()
      .reply()
      .entry({ type: 'mode', mode: 'x'.repeat(300_000) })
      .nudge()
      .launch()
      .reply()
      .kill();
    const outcome = await outcomeOf(lines, { scanLimitBytes: 100_000, history: 'whole' });
    expect(outcome).toMatchObject({
      kind: 'read',
      finding: { kind: 'pending', nudgesSinceHuman: 1, historyComplete: false },
    });
    const near = await outcomeOf(lines);
    expect(near).toMatchObject({ kind: 'read', finding: { historyComplete: false } });
    expect(await findingIn(lines, { history: 'whole' })).toMatchObject({ historyComplete: true });
  });
});

describe('files that change under the reader (R28)', () => {
  test('shorter while it is read: begun again from its new end', async () => {
    writeFileSync(file, longFile(hung()));
    const source = disturbed((nth, opened) => {
      if (nth === 1 && opened === 1) writeFileSync(file, chat().human().reply().bytes());
    });
    expect(reasonOf(await read(file, source))).toBe('no-notification');
  });

  test('rewritten shorter after the first block: begun again', async () => {
    writeFileSync(file, longFile(hung()));
    const source = disturbed((nth, opened) => {
      if (nth === 2 && opened === 1) writeFileSync(file, chat().human().reply().bytes());
    });
    expect(reasonOf(await read(file, source))).toBe('no-notification');
  });

  test('one that never holds still is left to the next look', async () => {
    writeFileSync(file, hung().bytes());
    const source = disturbed(() => truncateSync(file, 0));
    const refill: TranscriptSource = {
      open(path) {
        writeFileSync(file, hung().bytes());
        return source.open(path);
      },
    };
    expect(await read(file, refill)).toEqual({ kind: 'unreadable', code: 'ECHANGING' });
  });

  test('replaced: the opened file is read to its start, and the next look sees the new one', async () => {
    writeFileSync(file, longFile(hung()));
    const other = join(folder, 'new');
    writeFileSync(other, chat().human().reply().bytes());
    const source = disturbed((nth) => {
      if (nth === 1) renameSync(other, file);
    });
    const first = await read(file, source);
    const second = await read();
    expect([reasonOf(first), reasonOf(second)]).toEqual(['killed-unanswered', 'no-notification']);
    expect(first.kind === 'read' && second.kind === 'read' && first.file.ino !== second.file.ino).toBe(true);
  });

  test('deleted while it is read: what was opened is read; then it is missing, and nothing is created', async () => {
    writeFileSync(file, longFile(hung()));
    const outcome = await read(
      file,
      disturbed((nth) => nth === 1 && rmSync(file)),
    );
    expect(reasonOf(outcome)).toBe('killed-unanswered');
    expect(await read()).toEqual({ kind: 'missing' });
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    ['ENOENT', { kind: 'missing' }],
    ['ESTALE', { kind: 'missing' }],
    ['EIO', { kind: 'unreadable', code: 'EIO' }],
  ])('a read that fails with %s', async (code, expected) => {
    let closed = 0;
    const failing: TranscriptSource = {
      open: () =>
        Promise.resolve({
          mark: { size: 10, mtimeMs: 0, ino: 0 },
          readAt: () => Promise.reject(Object.assign(new Error(code), { code })),
          close: () => {
            closed += 1;
            return Promise.resolve();
          },
        }),
    };
    expect(await read('x', failing)).toEqual(expected);
    expect(closed).toBe(1);
  });

  test('an error that is no system error is not swallowed', async () => {
    const failing: TranscriptSource = { open: () => Promise.reject(new TypeError('a bug')) };
    await expect(read('x', failing)).rejects.toThrow('a bug');
  });
});

describe('what stands in a transcript’s place', () => {
  test('nothing, a directory, a pipe, a file below a file, a loop of links', async () => {
    expect(await read()).toEqual({ kind: 'missing' });
    mkdirSync(file);
    expect(await read()).toEqual({ kind: 'unreadable', code: 'EISDIR' });
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(await read(pipe)).toEqual({ kind: 'unreadable', code: 'ENOTFILE' });
    writeFileSync(join(folder, 'plain'), '');
    expect(await read(join(folder, 'plain', 'below'))).toEqual({ kind: 'missing' });
    symlinkSync('loop', join(folder, 'loop'));
    expect(await read(join(folder, 'loop'))).toEqual({ kind: 'unreadable', code: 'ELOOP' });
  });

  test.skipIf(process.getuid?.() === 0)('a file without permission', async () => {
    writeFileSync(file, hung().bytes());
    chmodSync(file, 0);
    expect(await read()).toEqual({ kind: 'unreadable', code: 'EACCES' });
  });

  test('a source that says so is believed', async () => {
    const denied: TranscriptSource = { open: () => Promise.resolve({ unreadable: 'EACCES' }) };
    expect(await read('x', denied)).toEqual({ kind: 'unreadable', code: 'EACCES' });
    expect(await read('y', createMemorySource(new Map()))).toEqual({ kind: 'missing' });
  });
});
