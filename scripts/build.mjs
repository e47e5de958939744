// Builds dist/: compiled sources, beside them what is not TypeScript, and a program that can be run as it is.
import { spawnSync } from 'node:child_process';
import { chmod, cp, readFile, readdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { join } from 'node:path';

const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'dist');
const PROGRAM = join(dist, 'cli', 'main.js');

await rm(dist, { recursive: true, force: true });
const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const compiled = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.build.json'], { cwd: root, stdio: 'inherit' });
if (compiled.status !== 0) process.exit(compiled.status ?? 1);

for (const folder of ['services', 'shared', 'cli', 'examples/chat-server']) {
  const files = await readdir(join(root, folder), { recursive: true });
  const ours = files.filter((file) => !file.startsWith('node_modules'));
  const assets = ours.filter((file) => /\.(lua|mjs)$/.test(file) || /(^|\/)public\/./.test(file));
  for (const file of assets) await cp(join(root, folder, file), join(dist, folder, file), { recursive: true });
}

const text = await readFile(PROGRAM, 'utf8');
if (!text.startsWith('#!/usr/bin/env node\n')) throw new Error(`${PROGRAM} has lost its first line.`);
await chmod(PROGRAM, 0o755);
