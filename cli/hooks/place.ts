import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { HOOK_PATH, SCRIPT_NAME } from './entries.ts';

/** Whose settings: those of this user, or those of a project, which it may share by its repository. */
export interface Place {
  settings: string;
  /** Where our script goes. A copy, since the package may lie in a cache that is emptied. */
  script: string;
  isProject: boolean;
}

export function placeOf(project: string | undefined, env: NodeJS.ProcessEnv): Place {
  const folder =
    project === undefined
      ? (env['CLAUDE_CONFIG_DIR'] ?? join(homedir(), '.claude'))
      : join(resolve(project), '.claude');
  return {
    settings: join(folder, 'settings.json'),
    script: join(folder, 'hooks', SCRIPT_NAME),
    isProject: project !== undefined,
  };
}

/** The route's address, from it or from the watcher's. Throws for what is no web address. */
export function hookUrl(given: string | undefined, env: NodeJS.ProcessEnv): string {
  const url = new URL(given ?? `http://127.0.0.1:${env['PORT'] ?? '8787'}`);
  if (!/^https?:$/.test(url.protocol)) throw new Error(`${url.href} is no http address.`);
  const path = url.pathname.replace(/\/+$/, '');
  return `${url.origin}${path.endsWith(HOOK_PATH) ? path : `${path}${HOOK_PATH}`}`;
}

/**
 * The command of the SessionStart hook. Claude Code records it in the transcript, so it names the token's variable only. In a
 * project, which others check out elsewhere, it says where things are by what Claude Code and the system know.
 */
export function startCommand({ script, isProject }: Place, url: string, tokenVariable: string | undefined): string {
  const program = isProject
    ? `node "$CLAUDE_PROJECT_DIR"/.claude/hooks/${SCRIPT_NAME}`
    : `${quoted(process.execPath)} ${quoted(script)}`;
  const token = tokenVariable === undefined ? '' : ` ${quoted(tokenVariable)}`;
  return `${program} ${quoted(url)}${token} >/dev/null 2>&1 || true`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
