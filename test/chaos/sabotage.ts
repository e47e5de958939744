import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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
    from: /if \(result\.job !== undefined && arm !== undefined\)/,
    to: "if (result.outcome !== 'duplicate' && result.job !== undefined && arm !== undefined)",
  },
};

export interface Sources {
  /** Folder from which the services run. */
  root: string;
  remove(): void;
}

/** A copy of the sources as they are now (an edit during the run does not count), with one thing broken where asked for. */
export function sourcesFor(sabotage: Sabotage | undefined): Sources {
  const root = mkdtempSync(join(tmpdir(), 'chat-recovery-sources-'));
  for (const name of ['services', 'shared', 'package.json', 'tsconfig.json']) {
    cpSync(join(ROOT, name), join(root, name), { recursive: true });
  }
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
  if (sabotage !== undefined && sabotage !== 'lookup') applyPatch(root, PATCHES[sabotage]);
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) };
}

/** @throws where the text is not there: then nothing would be broken, and the run would prove nothing. */
function applyPatch(root: string, { file, from, to }: Patch): void {
  const path = join(root, file);
  const text = readFileSync(path, 'utf8');
  if (!from.test(text)) throw new Error(`${file} has nothing like ${String(from)} any more: mend this sabotage.`);
  writeFileSync(path, text.replace(from, to));
}
