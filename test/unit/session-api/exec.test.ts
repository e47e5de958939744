import { describe, expect, test } from 'vitest';
import { expand, oneLine, unknownPlaceholders } from '#shared/session-api/exec/command.js';
import { commandEnvironment } from '#shared/session-api/exec/environment.js';
import { readStatus } from '#shared/session-api/exec/status.js';

describe('a command', () => {
  test('is filled in argument by argument, in one pass: what a nudge says in braces stays text', () => {
    const { args, missing } = expand(['claude', '-p', '--resume={sessionId}', '{nudge}', '{"a":1}'], {
      sessionId: 'ID',
      nudge: 'say {sessionId} and $(date); `x`\n"quoted"\0',
    });
    expect(args).toEqual(['claude', '-p', '--resume=ID', 'say {sessionId} and $(date); `x`\n"quoted"', '{"a":1}']);
    expect(missing).toEqual([]);
  });

  test('names what it lacks, and what means nothing', () => {
    expect(expand(['{cwd}/x', '{cwd}', '{transcriptPath}'], { project: '' }).missing).toEqual([
      'cwd',
      'transcriptPath',
    ]);
    expect(expand(['[{project}]'], { project: '' })).toEqual({ args: ['[]'], missing: [] });
    expect(unknownPlaceholders(['{session}', '{nudge}', '{ spaced }', '{session}', '{}'])).toEqual(['session']);
  });

  test('gets a nudge in one line where a line end would send it', () =>
    expect(oneLine(' a\n\n b\tc\r\n')).toBe('a b c'));

  test('gets an environment without this process’s secrets', () => {
    const own = { PATH: '/bin', HOME: '/h', ADMIN_TOKEN: 'hush', REDIS_URL: 'redis://', ANTHROPIC_API_KEY: 'key' };
    expect(commandEnvironment(own, [])).toEqual({ PATH: '/bin', HOME: '/h' });
    expect(commandEnvironment(own, ['ANTHROPIC_API_KEY', 'NOT_SET'])).toEqual({
      PATH: '/bin',
      HOME: '/h',
      ANTHROPIC_API_KEY: 'key',
    });
  });
});

const ended = (code: number, stdout = '') => readStatus({ kind: 'ended', code, stdout, stderr: 'why\nmore' });
const state = (name: string, queuedFollowUp = false) => ({
  kind: 'status',
  status: { state: name, queuedFollowUp },
});

describe('a status command says', () => {
  test.each([
    ['', 0, 'idle'],
    ['Running\n', 0, 'running'],
    ['waiting', 0, 'waiting'],
    ['{"state":"closed"}', 0, 'closed'],
    ['whatever', 10, 'running'],
    ['', 11, 'waiting'],
    ['', 12, 'closed'],
  ])('%j with %i: %s', (stdout, code, name) => expect(ended(code, stdout)).toMatchObject(state(name)));

  test('that a message waits', () =>
    expect(ended(0, '{"state":"idle","queuedFollowUp":true}')).toMatchObject(state('idle', true)));

  test('that there is no such session', () => expect(ended(13)).toEqual({ kind: 'gone' }));

  test.each([
    [1, '', 'ended with 1: why'],
    [127, '', 'ended with 127: why'],
    [0, 'on holiday', 'said "on holiday"'],
    [0, '{"state":"asleep"}', 'printed JSON that is no session state'],
    [0, '{"state":', 'printed JSON that is no session state'],
  ])('nothing with %i and %j', (code, stdout, why) => expect(ended(code, stdout)).toEqual({ kind: 'unclear', why }));

  test('nothing where it was cut off or never began', () => {
    expect(readStatus({ kind: 'killed', why: 'timeout', stdout: 'idle', stderr: '' })).toMatchObject({
      kind: 'unclear',
    });
    expect(readStatus({ kind: 'not-started', code: 'ENOENT', message: 'no' })).toMatchObject({ kind: 'unclear' });
  });
});
