import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** True in a checkout (TypeScript, run by tsx), false in the built package. */
export const fromSource = import.meta.url.endsWith('.ts');

/** Folder of package.json. */
export const packageRoot = fileURLToPath(new URL(fromSource ? '../' : '../../', import.meta.url));

/** Arguments with which this `node` runs one of our programs, e.g. `services/watcher/main`, whichever way we run. */
export function nodeArguments(entry: string): string[] {
  const path = fileURLToPath(new URL(`../${entry}.${fromSource ? 'ts' : 'js'}`, import.meta.url));
  if (!fromSource) return ['--enable-source-maps', path];
  return ['--import', import.meta.resolve('tsx'), '--conditions=source', path];
}

/** The package's version. */
export function packageVersion(): string {
  const parsed: unknown = JSON.parse(readFileSync(`${packageRoot}package.json`, 'utf8'));
  const known = typeof parsed === 'object' && parsed !== null && 'version' in parsed;
  return known ? String(parsed.version) : '0.0.0';
}
