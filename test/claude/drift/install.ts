import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const PACKAGE = '@anthropic-ai/claude-code';

/** One installed Claude Code: how to start it. */
export interface InstalledClaude {
  version: string;
  command: string;
  args: string[];
}

/** Installs that version (a number or a tag such as `latest`) into the cache, unless it is there. Throws npm's own words. */
export function installClaude(wanted: string): InstalledClaude {
  const version = resolveVersion(wanted);
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'chat-recovery', `claude-${version}`);
  const root = join(folder, 'node_modules');
  if (!existsSync(join(root, PACKAGE, 'package.json'))) {
    mkdirSync(folder, { recursive: true });
    npm(['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', `${PACKAGE}@${version}`]);
  }
  return { version, ...entryOf(root) };
}

function resolveVersion(wanted: string): string {
  if (!/^[\w.-]+$/.test(wanted)) throw new Error(`${wanted} is no version`);
  const version = npm(['view', `${PACKAGE}@${wanted}`, 'version', '--json']).trim();
  const parsed: unknown = JSON.parse(version || 'null');
  if (typeof parsed !== 'string') throw new Error(`there is no ${PACKAGE} ${wanted}`);
  return parsed;
}

/** Newer versions are a native binary in a package per platform, older ones a script for Node. */
function entryOf(root: string): { command: string; args: string[] } {
  const native = join(root, `${PACKAGE}-${process.platform}-${process.arch}`, 'claude');
  if (existsSync(native)) return { command: native, args: [] };
  const { bin } = JSON.parse(readFileSync(join(root, PACKAGE, 'package.json'), 'utf8')) as { bin: { claude: string } };
  return { command: process.execPath, args: [join(root, PACKAGE, bin.claude)] };
}

function npm(args: string[]): string {
  const result = spawnSync('npm', args, { encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`npm ${args.join(' ')} failed:\n${result.stderr}`);
  return result.stdout;
}
