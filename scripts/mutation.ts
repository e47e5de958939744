import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs the mutation tests over the rules (stryker.config.json); what survives is listed in docs/mutation.md.
 *
 * Stryker is 100 MB that nothing else needs, so it is installed into a cache folder and not by `npm ci`. From there it finds
 * the project's own vitest.
 */
const VERSION = '9.6.1';
const ROOT = join(import.meta.dirname, '..');
const CACHE = join(ROOT, '.cache', `mutation-${VERSION}`);
const STRYKER = join(CACHE, 'node_modules', '@stryker-mutator', 'core', 'bin', 'stryker.js');

const run = (command: string, args: readonly string[], cwd: string): number =>
  spawnSync(command, args, { cwd, stdio: 'inherit' }).status ?? 1;

const install = (): number => {
  mkdirSync(CACHE, { recursive: true });
  writeFileSync(join(CACHE, 'package.json'), '{ "private": true }\n');
  const packages = ['core', 'vitest-runner'].map((name) => `@stryker-mutator/${name}@${VERSION}`);
  return run('npm', ['install', '--no-audit', '--no-fund', '--legacy-peer-deps', '--save-exact', ...packages], CACHE);
};

const installed = existsSync(STRYKER) ? 0 : install();
process.exitCode =
  installed === 0 ? run(process.execPath, [STRYKER, 'run', ...process.argv.slice(2)], ROOT) : installed;
