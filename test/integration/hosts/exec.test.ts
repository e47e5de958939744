import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from '#shared/liveness/process-id.js';
import { lockHolder, lockSession } from '#shared/session-api/exec/session-lock.js';
import { eventually } from '../../support/events.ts';
import { describe, expect } from '../../support/leaks.ts';
import { startProcess } from '../../support/processes.ts';
import { Desk, test } from './commands.ts';

const alive = { class: 'busy', code: 'process_alive', mayHaveArrived: false };

describe('resuming a session whose process is dead', () => {
  test('starts the command in its folder, without a shell, with a clean environment', async ({ desk }) => {
    const driver = desk.driver({ send: [desk.lasting(), '-p', '--resume', '{sessionId}', '{nudge}', '{project}'] });
    expect(await desk.state(driver)).toMatchObject({ state: 'idle' });
    await driver.send(desk.nudge);
    const [, ...args] = desk.read('called').split('\n');
    expect(args.join('\n')).toBe(`-p\n--resume\n${desk.sessionId}\n${desk.nudge.text}\np1\n`);
    expect(desk.read('pwd').trim()).toBe(desk.cwd);
    const names = desk
      .read('env')
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(names).toContain('SHOWN');
    expect(names).not.toContain('ADMIN_TOKEN');
  });

  test('is single flight: for this worker, for another, and for one that comes after both', async ({ desk }) => {
    const send = [desk.lasting('agent'), '{nudge}'];
    const driver = desk.driver({ send });
    const other = desk.driver({ send });
    await driver.send(desk.nudge);
    for (const each of [driver, other]) {
      expect(await desk.state(each)).toMatchObject({ state: 'running', busyCode: 'process_alive' });
      await expect(each.send(desk.nudge)).rejects.toMatchObject(alive);
    }
    await driver.close();
    await other.close();
    const later = desk.driver({ send });
    await expect(later.send(desk.nudge)).rejects.toMatchObject(alive);
    desk.letEnd();
    await eventually(async () => (await desk.state(later))?.state === 'idle');
  });

  test('of two at the same moment one begins', async ({ desk }) => {
    const send = [desk.lasting('agent'), '{nudge}'];
    const results = await Promise.allSettled([1, 2, 3].map(() => desk.driver({ send }).send(desk.nudge)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('tells of the command’s end, with what it wrote', async ({ desk }) => {
    const driver = desk.driver({ send: [desk.lasting('agent')] });
    await driver.send(desk.nudge);
    desk.letEnd();
    await eventually(() => desk.logged.length > 0);
    expect(desk.logged[0]).toMatchObject({ fields: { code: 0, output: 'the reply' } });
    expect(await lockHolder(join(desk.root, 'exec'), desk.sessionId)).toBeUndefined();
  });

  test('ends a command that runs too long, and everything that it started', async ({ desk }) => {
    const script = desk.script('long', `sleep 61 & echo $! > ${desk.root}/child; wait`);
    const driver = desk.driver({ send: [script], turnTimeoutMs: 300 });
    await driver.send(desk.nudge);
    await eventually(() => desk.logged.some(({ message }) => message.includes('has failed')));
    await eventually(() => !isAlive({ pid: Number(desk.read('child')), startTicks: null }));
  });

  test('a command that fails at once without a word in the transcript is a refusal, else an unknown outcome', async ({
    desk,
  }) => {
    const silent = desk.driver({ send: [desk.script('silent', 'echo no such session >&2; exit 1')] });
    await expect(silent.send(desk.nudge)).rejects.toMatchObject({ class: 'refused', code: 'exit_1' });
    await expect(silent.send(desk.nudge)).rejects.toThrow(/no such session/);
    const spoke = desk.script('spoke', `echo '{}' >> ${desk.transcriptPath}; exit 1`);
    await expect(desk.driver({ send: [spoke] }).send(desk.nudge)).rejects.toMatchObject({
      code: 'exit_1',
      mayHaveArrived: true,
    });
  });

  test('a program that is not there is named, by the probe too', async ({ desk }) => {
    const driver = desk.driver({ send: ['no-such-program'] });
    await expect(driver.send(desk.nudge)).rejects.toMatchObject({ class: 'refused', code: 'ENOENT' });
    await expect(driver.probe()).rejects.toThrow(/no-such-program/);
    await desk.driver({ send: ['sh'] }).probe();
  });

  test('of several processes at the same moment one has the lock; killed, it holds nobody up', async ({ desk }) => {
    const file = 'test/fixtures/programs/session-locker.ts';
    const args = [join(desk.root, 'exec'), desk.sessionId];
    const start = () => startProcess({ file, args, ready: /held|locked/ });
    const racers = await Promise.all([1, 2, 3].map(() => start()));
    const winner = racers.find(({ readyLine }) => readyLine.startsWith('locked'));
    expect(racers.map(({ readyLine }) => readyLine).toSorted()).toEqual([
      `held by ${winner?.pid}`,
      `held by ${winner?.pid}`,
      `locked by ${winner?.pid}`,
    ]);
    await winner?.stop('SIGKILL');
    const next = await start();
    expect(next.readyLine).toBe(`locked by ${next.pid}`);
    await Promise.all([...racers, next].map((racer) => racer.stop('SIGKILL')));
  });

  test('a dead worker’s lock holds nobody up, however many come at once; a torn line holds nothing', async ({
    desk,
  }) => {
    const folder = join(desk.root, 'exec');
    const path = join(folder, `${desk.sessionId}.lock`);
    mkdirSync(folder, { recursive: true });
    writeFileSync(path, '{"token":"dead","process":{"pid":999999,"startTicks":"1"}}\n{"token":"torn","proc');
    const locks = await Promise.all(Array.from({ length: 20 }, () => lockSession(folder, desk.sessionId)));
    const won = locks.filter((lock) => 'release' in lock);
    expect(won).toHaveLength(1);
    await won[0]?.release();
    expect(await lockHolder(folder, desk.sessionId)).toBeUndefined();
    expect(await lockSession(folder, desk.sessionId)).toHaveProperty('release');
  });
});

const refuses = async (desk: Desk, how: string) => {
  const driver = desk.driver({ send: ['true'] });
  expect(await desk.state(driver)).toMatchObject({ state: 'running', busyCode: 'process_alive' });
  await expect(driver.send(desk.nudge)).rejects.toMatchObject(alive);
  await expect(driver.send(desk.nudge)).rejects.toThrow(how);
  return driver;
};

describe('a session that a process holds', () => {
  test('as a hook told is not resumed; once it is dead it is', async ({ desk }) => {
    const holder = await desk.process('sleep', ['60']);
    await desk.processes.record(desk.sessionId, holder.pid);
    const driver = await refuses(desk, `process ${holder.pid} holds the session (recorded)`);
    await holder.end();
    await driver.send(desk.nudge);
  });

  test('as its command line says is not resumed', async ({ desk }) => {
    const program = desk.script('anything', 'sleep 60');
    await desk.process(program, ['--resume', desk.sessionId]);
    await refuses(desk, '(command-line)');
  });

  test('because it writes the transcript is not resumed; a reader does not count', async ({ desk }) => {
    await desk.process('sh', ['-c', `exec 3< ${desk.transcriptPath}; sleep 60 <&3`]);
    const driver = desk.driver({ send: ['true'] });
    expect(await desk.state(driver)).toMatchObject({ state: 'idle' });
    await desk.process('sh', ['-c', `exec 3>> ${desk.transcriptPath}; sleep 60`]);
    await eventually(async () => (await desk.state(driver))?.state === 'running');
    await refuses(desk, '(writing)');
  });

  test('in all likelihood, a Claude Code in its folder, is not resumed', async ({ desk }) => {
    await desk.process(desk.script('claude', 'sleep 60'), [], desk.cwd);
    await refuses(desk, '(same-folder)');
  });

  test('is not one beside it: another folder, or known to drive another session', async ({ desk }) => {
    const claude = desk.script('claude', 'sleep 60');
    await desk.process(claude, [], desk.root);
    await desk.process(claude, ['--resume', '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11'], desk.cwd);
    const other = await desk.process(claude, [], desk.cwd);
    await desk.processes.record('7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d12', other.pid);
    expect(await desk.state(desk.driver({ send: ['true'] }))).toMatchObject({ state: 'idle' });
  });
});

describe('typing into a live process', () => {
  const live = { into: 'live' as const, status: ['true'] };

  test('runs the command to its end, whatever holds the session', async ({ desk }) => {
    const holder = await desk.process('sleep', ['60']);
    await desk.processes.record(desk.sessionId, holder.pid);
    const script = desk.script('type', `printf %s "$1" > ${desk.root}/typed`);
    const driver = desk.driver({ ...live, send: [script, '{nudgeLine}'] });
    expect(await desk.state(driver)).toMatchObject({ state: 'idle' });
    await driver.send(desk.nudge);
    expect(desk.read('typed')).toBe('[Paddock recovery] It’s "$(date)"; go on. Second line.');
  });

  test.each([
    ['exit 10', { class: 'busy', code: 'turn_running' }],
    ['exit 11', { class: 'busy', code: 'waiting' }],
    ['exit 13', { class: 'gone' }],
    ['exit 1', { class: 'transient', code: 'exit_1', mayHaveArrived: true }],
    ['kill -9 $$', { code: 'SIGKILL', mayHaveArrived: true }],
  ])('that ends by %s', async (text, failure) => {
    const desk = new Desk();
    const driver = desk.driver({ ...live, send: [desk.script('type', text)] });
    await expect(driver.send(desk.nudge)).rejects.toMatchObject(failure);
    await desk.close();
  });

  test('is cut off at the deadline, with all that it started, and its outcome is unknown', async ({ desk }) => {
    const script = desk.script('stuck', `sleep 62 & echo $! > ${desk.root}/child; wait`);
    const driver = desk.driver({ ...live, send: [script], timeoutMs: 300 });
    await expect(driver.send(desk.nudge)).rejects.toMatchObject({ code: 'timeout', mayHaveArrived: true });
    await eventually(() => !isAlive({ pid: Number(desk.read('child')), startTicks: null }));
  });

  test('asks the status command for the state, and floods of output do no harm', async ({ desk }) => {
    const status = desk.script('status', 'case "$1" in *-*) echo waiting;; *) exit 13;; esac');
    const driver = desk.driver({ ...live, send: ['true'], status: [status, '{sessionId}'] });
    expect(await desk.state(driver)).toMatchObject({ state: 'waiting' });
    const flood = desk.driver({
      ...live,
      send: ['true'],
      status: [desk.script('flood', 'head -c 30000000 /dev/zero')],
    });
    await expect(desk.state(flood)).rejects.toMatchObject({ class: 'transient', code: 'status_unclear' });
    const gone = desk.driver({ ...live, send: ['true'], status: [desk.script('gone', 'exit 13')] });
    expect(await desk.state(gone)).toBeUndefined();
  });
});
