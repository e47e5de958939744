import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/processes.ts';
import type { Sabotage } from './options.ts';

/** One piece of text that makes all the difference, and what stands there instead. */
interface Patch {
  file: string;
  from: RegExp;
  to: string;
}

/** The stand-in's own sabotage (`lookup`) needs no patch. */
const PATCHES: Record<Exclude<Sabotage, 'lookup'>, Patch> = {
  // Neither an attempt under way nor one that was sent keeps the next claim from a fresh attempt.
  claim: {
    file: 'shared/session/lua/claimNudge.lua',
    from: /local attempt = decoded\(rec\.att\)/,
    to: 'local attempt = nil',
  },
  // Whoever repeats an attempt has another key.
  key: {
    file: 'services/recovery-worker/nudge.ts',
    from: /idempotencyKey: ref\.attemptId/,
    to: 'idempotencyKey: globalThis.crypto.randomUUID()',
  },
  // A repeated delivery is answered like the first, and that is all.
  repeat: {
    file: 'services/watcher/deliveries.ts',
    from: /if \(result\.step !== undefined\)/,
    to: "if (result.outcome !== 'duplicate' && result.step !== undefined)",
  },
};

export interface Program {
  /** Folder from which the services run. */
  root: string;
  remove(): void;
}

/**
 * Compiles a copy of the sources as they are now, with one thing broken where asked for. Compiled, because a process that is
 * started again and again must be quick to come back; a copy, because an edit during the run must not count.
 */
export function compile(sabotage: Sabotage | undefined): Program {
  const root = mkdtempSync(join(tmpdir(), 'chat-recovery-program-'));
  const remove = (): void => rmSync(root, { recursive: true, force: true });
  // Also where a signal ends this program first.
  process.once('exit', remove);
  for (const name of ['services', 'shared', 'package.json', 'tsconfig.json', 'tsconfig.build.json']) {
    cpSync(join(ROOT, name), join(root, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  if (sabotage !== undefined && sabotage !== 'lookup') applyPatch(root, PATCHES[sabotage]);
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const args = [tsc, '-p', 'tsconfig.build.json', '--noCheck'];
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`The services do not compile: ${stdout}`);
  for (const name of ['services', 'shared']) copyAssets(join(root, name), join(root, 'dist', name));
  return { root, remove };
}

/** Scripts for Redis and whatever else stands beside the sources. */
function copyAssets(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => statSync(path).isDirectory() || !path.endsWith('.ts') });
}

/** @throws where the text is not there: then nothing would be broken, and the run would prove nothing. */
function applyPatch(root: string, { file, from, to }: Patch): void {
  const path = join(root, file);
  const text = readFileSync(path, 'utf8');
  if (!from.test(text)) throw new Error(`${file} has nothing like ${String(from)} any more: mend this sabotage.`);
  writeFileSync(path, text.replace(from, to));
}
