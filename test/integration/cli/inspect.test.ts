import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { SESSION, chat } from '../../support/chat-lines.ts';

const ROOT = join(import.meta.dirname, '../../..');
const TRANSCRIPTS = join(ROOT, 'test/fixtures/transcripts');
const CASES = join(ROOT, 'test/fixtures/cases');

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the command as a process of its own, as a checkout does without a build. */
const run = (args: string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> =>
  new Promise((resolve) => {
    const node = ['--import', 'tsx', '--conditions=source', 'cli/main.ts', ...args];
    execFile(
      process.execPath,
      node,
      { cwd: ROOT, env: { ...process.env, ...env }, maxBuffer: 1e8 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, stdout, stderr });
      },
    );
  });

const explained = z.strictObject({
  verdict: z.string(),
  reason: z.string(),
  tasks: z.array(z.strictObject({ id: z.string(), status: z.string(), summary: z.string() })),
  evidence: z.array(z.strictObject({ line: z.int().positive(), type: z.string(), timestamp: z.string().nullable() })),
  skippedLines: z.int(),
  bytesRead: z.int(),
});
const explain = async (...args: string[]): Promise<z.infer<typeof explained>> =>
  explained.parse(JSON.parse((await run(['explain', ...args, '--json'])).stdout));

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'chat-recovery-cli-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('chat-recovery explain', () => {
  test('a kill in mid-turn is hung, and its evidence names the lines', async () => {
    const file = join(TRANSCRIPTS, '2.1.332/kill_midturn_stop_task.jsonl');
    const { verdict, tasks, evidence } = await explain(file);
    expect([verdict, tasks.map(({ id }) => id)]).toEqual(['hung', ['bai8ap50v']]);
    const lines = readFileSync(file, 'utf8').split('\n');
    for (const { line, type, timestamp } of evidence) {
      expect(JSON.parse(lines[line - 1] ?? '')).toMatchObject({ type, timestamp });
    }
    expect(evidence.map(({ line }) => line)).toContain(39);
  });

  test('a pasted notice that was interrupted is not hung', async () => {
    expect(await explain(join(TRANSCRIPTS, '2.1.332/quote_user_bare_interrupted.jsonl'))).toMatchObject({
      verdict: 'not-hung',
    });
  });

  test('clocks: now, first seen, delivered seen, debounce', async () => {
    const killed = join(CASES, '01_kill_enqueue_only.jsonl');
    expect(await explain(killed, '--now', '2026-01-15T10:00:16.999Z')).toMatchObject({ reason: 'debounce' });
    expect(await explain(killed, '--now', '2026-01-15T10:00:17Z')).toMatchObject({ verdict: 'hung' });
    expect(await explain(killed, '--now', '2026-01-15T10:00:17Z', '--debounce', '6000')).toMatchObject({
      reason: 'debounce',
    });
    expect(
      await explain(killed, '--now', '2026-01-15T10:01:00Z', '--first-seen', '2026-01-15T10:00:58Z'),
    ).toMatchObject({ reason: 'debounce' });
    const delivered = join(CASES, '23_question_not_on_disk.jsonl');
    expect(await explain(delivered, '--now', '2026-01-15T10:00:40Z')).toMatchObject({ reason: 'wake-grace' });
    expect(
      await explain(delivered, '--now', '2026-01-15T10:02:00Z', '--delivered-seen', '2026-01-15T10:01:50Z'),
    ).toMatchObject({ reason: 'wake-grace' });
    // A stamp ahead of the clock was seen just now.
    expect(await explain(join(CASES, '47_future_timestamp.jsonl'), '--now', '2026-01-15T10:01:00Z')).toMatchObject({
      verdict: 'busy-or-waiting',
    });
  });

  test('whose file it is: its name, else its newest line that is no queue traffic; a flag wins', async () => {
    const hung = chat().turn().kill();
    const named = join(folder, `${SESSION}.jsonl`);
    writeFileSync(named, hung.bytes());
    expect(await explain(named)).toMatchObject({ verdict: 'hung' });
    const copy = join(folder, 'b0000000-0000-4000-8000-00000000000b.jsonl');
    writeFileSync(copy, hung.bytes());
    expect(await explain(copy)).toMatchObject({ verdict: 'not-hung' });
    expect(await explain(copy, '--session', SESSION)).toMatchObject({ verdict: 'hung' });
    const fork = join(folder, 'fork.jsonl');
    const own = { sessionId: 'b0000000-0000-4000-8000-00000000000b' };
    writeFileSync(fork, chat().turn().kill().human('Go on', own).reply('Done.', own).bytes());
    expect(await explain(fork)).toMatchObject({ verdict: 'not-hung', tasks: [] });
    const misrouted = join(folder, 'misrouted.jsonl');
    writeFileSync(misrouted, chat().turn().kill({}, own).bytes());
    expect(await explain(misrouted)).toMatchObject({ verdict: 'not-hung' });
  });

  test('in words: verdict, task and timeline, without colours in a pipe', async () => {
    const { stdout, code } = await run(['explain', join(TRANSCRIPTS, '2.1.332/two_both_killed.jsonl')]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^hung {2}killed-unanswered\n/);
    expect(stdout).toContain('killed notice of task b363dw7pw');
    expect(stdout).toContain('launch of task bc49v0n0f');
    expect(stdout).not.toContain('\u001B');
  });

  test('text from the transcript cannot steer the terminal', async () => {
    const file = join(folder, 'steering.jsonl');
    writeFileSync(file, chat().turn().kill({ summary: 'a\u001B[2J\u0007b' }).bytes());
    const { stdout } = await run(['explain', file]);
    expect(stdout.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });

  test.each([
    ['no file', ['explain', '/nowhere.jsonl']],
    ['a directory', ['explain', TRANSCRIPTS]],
    ['no argument', ['explain']],
    ['an odd time', ['explain', 'x', '--now', 'yesterday']],
    ['an odd debounce', ['explain', 'x', '--debounce', '-1']],
    ['an odd session', ['explain', 'x', '--session', '../x']],
    ['an unknown option', ['explain', 'x', '--what']],
    ['no directory', ['scan', '/nowhere']],
    ['a file to scan', ['scan', join(CASES, 'INDEX.json')]],
    ['an odd since', ['scan', '--since', 'soon']],
  ])('%s: 2, and a sentence why', async (_, args) => {
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).not.toBe('');
    expect(stderr).not.toContain('    at ');
  });
});

const scanned = z.object({
  file: z.string(),
  group: z.string(),
  verdict: z.string(),
  project: z.string(),
  ageMs: z.number(),
  why: z.string(),
});
const scan = async (args: string[], env: NodeJS.ProcessEnv = {}): Promise<z.infer<typeof scanned>[]> => {
  const { stdout } = await run(['scan', '--json', ...args], env);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => scanned.parse(JSON.parse(line)));
};

interface Label {
  file: string;
  expected: string;
  reallyStuck?: string;
}

describe('chat-recovery scan', () => {
  const labels = (JSON.parse(readFileSync(join(ROOT, 'test/fixtures/INDEX.json'), 'utf8')) as { fixtures: Label[] })
    .fixtures;
  const filesOf = (picked: readonly Label[]): string[] =>
    picked.map(({ file }) => join(ROOT, 'test/fixtures', file)).toSorted();

  test('finds every chat that is labelled hung or in error, and each that is dead in another way', async () => {
    const found = await scan([TRANSCRIPTS, '--now', '2026-12-01T00:00:00Z']);
    const inGroup = (group: string): string[] =>
      found
        .filter((each) => each.group === group)
        .map(({ file }) => file)
        .toSorted();
    expect(inGroup('hung')).toEqual(filesOf(labels.filter(({ expected }) => expected === 'hung')));
    expect(inGroup('error')).toEqual(filesOf(labels.filter(({ expected }) => expected === 'error-entry')));
    const stuck = filesOf(labels.filter(({ reallyStuck }) => reallyStuck !== undefined));
    expect(stuck).toHaveLength(29);
    expect(inGroup('dead')).toEqual(expect.arrayContaining(stuck));
  });

  test('newest first, with age, project and a line why; a table for people', async () => {
    const found = await scan([TRANSCRIPTS, '--now', '2026-12-01T00:00:00Z']);
    const ages = found.map(({ ageMs }) => ageMs);
    expect(ages).toEqual(ages.toSorted((a, b) => a - b));
    const { stdout, stderr } = await run(['scan', TRANSCRIPTS]);
    expect(stdout).toMatch(/^Hung: .+ \(21\)$/m);
    expect(stdout).toMatch(/^Dead in another way \(\d+\)$/m);
    expect(stdout).toContain('116 chats looked at');
    expect(stderr).toBe('');
  });

  test('the default is the Claude home’s projects; linked folders count once, sub-agents and other files never', async () => {
    const home = join(folder, 'home');
    const project = join(home, 'projects', '-srv-app');
    mkdirSync(join(project, SESSION, 'subagents'), { recursive: true });
    const file = join(project, `${SESSION}.jsonl`);
    writeFileSync(file, chat().turn().kill().bytes());
    cpSync(file, join(project, SESSION, 'subagents', 'agent-b1.jsonl'));
    cpSync(file, join(project, 'agent-b1.jsonl'));
    writeFileSync(join(project, 'notes.txt'), 'x');
    symlinkSync(project, join(home, 'projects', 'link'));
    symlinkSync('/nowhere', join(home, 'projects', 'dangling'));
    const before = statSync(file);
    const found = await scan([], { CLAUDE_HOME: home });
    expect(found).toMatchObject([{ file, group: 'hung', project: '-srv-app' }]);
    expect(statSync(file)).toMatchObject({ mtimeMs: before.mtimeMs, size: before.size });
  });

  test('--all lists the healthy, --since leaves out what is older', async () => {
    const dir = join(folder, 'since');
    mkdirSync(dir);
    appendFileSync(join(dir, 'healthy.jsonl'), chat().human().reply().bytes());
    expect(await scan([dir])).toEqual([]);
    expect(await scan([dir, '--all'])).toMatchObject([{ group: 'healthy' }]);
    expect(await scan([dir, '--all', '--since', '2026-01-15'])).toHaveLength(1);
    expect(await scan([dir, '--all', '--since', '2026-01-16T00:00:00Z'])).toEqual([]);
    expect(await scan([dir, '--all', '--since', '1h'])).toEqual([]);
  });
});
