import { InvalidArgumentError, type Command } from 'commander';
import { hookUrl, placeOf, startCommand } from './place.ts';

interface Options {
  user?: true;
  project?: string;
  url?: string;
  tokenEnv?: string;
  dryRun?: true;
  yes?: true;
}

/** `chat-recovery hooks install|remove|status`: Claude Code tells of its own sessions. */
export function registerHooks(program: Command): void {
  const hooks = program.command('hooks').description('connect Claude Code itself by its hooks, or take that back');
  change(placed(hooks.command('install')))
    .description('write our hooks into Claude Code’s settings; all else there stays')
    .option('--url <url>', 'address of the watcher', `http://127.0.0.1:${process.env['PORT'] ?? '8787'}`)
    .option('--token-env <name>', 'variable of Claude Code’s environment that holds HOOK_TOKEN', variable)
    .action(async (options: Options) => {
      const { install } = await import('./change.ts');
      const place = placeOf(options.project, process.env);
      const url = hookUrl(options.url, process.env);
      const command = startCommand(place, url, options.tokenEnv);
      process.exitCode = await install(place, { url, tokenVariable: options.tokenEnv, command }, changeOf(options));
    });
  change(placed(hooks.command('remove')))
    .description('take our hooks out of Claude Code’s settings, and nothing else')
    .action(async (options: Options) => {
      const { remove } = await import('./change.ts');
      process.exitCode = await remove(placeOf(options.project, process.env), changeOf(options));
    });
  placed(hooks.command('status'))
    .description('say what is installed and whether the watcher answers (exit status 0 or 1)')
    .action(async (options: Options) => {
      const { status } = await import('./status.ts');
      process.exitCode = (await status(placeOf(options.project, process.env), process.env)) ? 0 : 1;
    });
}

const placed = (command: Command): Command =>
  command
    .option('--user', 'this user’s settings, for all projects (the default)')
    .option('--project <dir>', 'the settings of the project in this folder instead');

const change = (command: Command): Command =>
  command.option('--dry-run', 'only say what would be done').option('--yes', 'do it without asking');

const changeOf = ({ dryRun = false, yes = false }: { dryRun?: boolean; yes?: boolean }) => ({ dryRun, yes });

function variable(name: string): string {
  if (/^[A-Za-z_]\w*$/.test(name)) return name;
  throw new InvalidArgumentError('It must be the name of a variable.');
}
