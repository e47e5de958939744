import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeLock } from '../../../cli/start/lock.ts';
import { identify, isAlive } from '#shared/liveness/process-id.js';

let folder = '';
let file = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'chat-recovery-lock-'));
  file = join(folder, 'chat-recovery.lock');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Process id that the lock names. */
async function owner(): Promise<unknown> {
  const content: { owner?: { pid?: unknown } } = JSON.parse(await readFile(file, 'utf8'));
  return content.owner?.pid;
}

/** Id of a process that has ended. */
async function deadPid(): Promise<number> {
  const child = spawn('true');
  await once(child, 'close');
  return child.pid ?? 0;
}

test('a folder is ours until it is released, and nothing is left of the lock then', async () => {
  const lock = await takeLock(folder);
  expect(await owner()).toBe(process.pid);
  lock.release();
  lock.release();
  expect(await readdir(folder)).toEqual([]);
});

test('a live owner is refused by name', async () => {
  await takeLock(folder);
  await expect(takeLock(folder)).rejects.toThrow(
    `${folder} is in use by chat-recovery start, process ${process.pid}. Stop it, or set DATA_DIR to another folder.`,
  );
});

test('a dead owner is replaced', async () => {
  await writeFile(file, JSON.stringify({ owner: { pid: await deadPid(), startTicks: '1' }, children: [] }));
  await takeLock(folder);
  expect(await owner()).toBe(process.pid);
});

test('another process that got the dead owner’s id is not the owner', async () => {
  const reused = { ...identify(process.ppid), startTicks: '1' };
  await writeFile(file, JSON.stringify({ owner: reused, children: [] }));
  await takeLock(folder);
  expect(await owner()).toBe(process.pid);
});

test('a lock that a crash cut off protects nothing', async () => {
  await writeFile(file, '{"owner":{"pi');
  await takeLock(folder);
  expect(await owner()).toBe(process.pid);
});

test('what a dead owner left running on the folder is ended first, and nothing else', async () => {
  const left = spawn('sleep', ['60']);
  const other = spawn('sleep', ['60']);
  const children = [identify(left.pid ?? 0), { pid: other.pid ?? 0, startTicks: '1' }];
  const gone = once(left, 'close');
  await writeFile(file, JSON.stringify({ owner: { pid: await deadPid(), startTicks: '1' }, children }));
  await takeLock(folder);
  await gone;
  expect(isAlive(identify(other.pid ?? 0))).toBe(true);
  other.kill();
  await once(other, 'close');
});

// Several processes start here, on however many cores.
test('of many successors that come at once exactly one gets the folder', { timeout: 30_000 }, async () => {
  await writeFile(file, JSON.stringify({ owner: { pid: await deadPid(), startTicks: '1' }, children: [] }));
  const program = join(import.meta.dirname, '../../fixtures/programs/locker.ts');
  const lockers = Array.from({ length: 4 }, () => {
    const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=source', program, folder]);
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
    return { child, said: once(child.stdout, 'data').then(() => text.trim()) };
  });
  const said = await Promise.all(lockers.map((locker) => locker.said));
  expect(said.filter((text) => text === 'mine')).toHaveLength(1);
  for (const { child } of lockers) child.kill();
});
