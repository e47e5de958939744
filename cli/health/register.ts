import { Argument, type Command } from 'commander';

/** `chat-recovery health watcher|worker`: for the health checks of containers. */
export function registerHealth(program: Command): void {
  program
    .command('health')
    .description('say whether the watcher or worker beside this one is well (exit status 0 or 1)')
    .addArgument(new Argument('<service>').choices(['watcher', 'worker']))
    .action(async (service: 'watcher' | 'worker') => {
      const { checkWatcher, checkWorker } = await import('./health.ts');
      const problem = await (service === 'watcher' ? checkWatcher(process.env) : checkWorker(process.env));
      if (problem === undefined) return;
      console.error(problem);
      process.exitCode = 1;
    });
}
