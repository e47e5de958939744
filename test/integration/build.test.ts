import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from '../../cli/provision/run.ts';
import { ROOT } from '../support/processes.ts';
import { beforeAll, describe, expect, test } from '../support/redis.ts';

const DIST = join(ROOT, 'dist');
const PROGRAM = join(DIST, 'cli', 'main.js');

/** Runs the built program by plain node, somewhere else than in the checkout. */
const built = (...args: string[]) => run(process.execPath, [PROGRAM, ...args], { timeoutMs: 60_000, cwd: '/' });

describe('the built package', () => {
  beforeAll(async () => {
    const build = await run(process.execPath, ['scripts/build.mjs'], { timeoutMs: 120_000, cwd: ROOT });
    if (build.code !== 0) throw new Error(build.stdout + build.stderr);
  }, 130_000);

  test('runs on plain node, from any folder', async () => {
    const help = await built('--help');
    expect(help.code).toBe(0);
    for (const command of ['start', 'demo', 'explain', 'scan']) expect(help.stdout).toContain(`  ${command}`);
    expect((await built('--version')).stdout.trim()).toMatch(/^\d+\.\d+\.\d+$/);
  });

  test('ends with 2 on bad usage', async () => {
    expect((await built('no-such-command')).code).toBe(2);
    expect((await built('demo', '--workers', 'many')).code).toBe(2);
  });

  test('is a program that can be run as it is', async () => {
    expect((await stat(PROGRAM)).mode & 0o111).toBe(0o111);
    expect((await run(PROGRAM, ['--version'], { timeoutMs: 10_000 })).code).toBe(0);
  });

  test('holds everything that its sources read beside them', async () => {
    for (const folder of ['services', 'shared']) {
      const files = await readdir(join(ROOT, folder), { recursive: true });
      for (const file of files.filter((name) => name.endsWith('.lua') || /(^|\/)public\/./.test(name))) {
        expect(existsSync(join(DIST, folder, file)), file).toBe(true);
      }
    }
  });

  test('holds no test, and no import of a source', async () => {
    expect((await readdir(DIST)).toSorted()).toEqual(['cli', 'examples', 'services', 'shared']);
    const sources = await run('grep', ['-rlE', `from '[^']+\\.ts'`, '--include=*.js', DIST], { timeoutMs: 10_000 });
    expect(sources.stdout).toBe('');
  });

  test('recovers a chat: the demo runs from it', { timeout: 90_000 }, async ({ redis }) => {
    const env = { ...process.env, REDIS_URL: redis.url };
    const demo = await run(process.execPath, [PROGRAM, 'demo', '--once'], { timeoutMs: 80_000, cwd: '/', env });
    expect(demo.stdout).not.toContain('✗');
    expect(demo.code).toBe(0);
  });
});
