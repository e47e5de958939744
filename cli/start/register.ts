import type { Command } from 'commander';

/** `chat-recovery start`. */
export function registerStart(program: Command): void {
  program
    .command('start')
    .description('run Redis, the watcher and WORKER_REPLICAS workers on this machine until stopped')
    .action(async () => {
      const { start } = await import('./start.ts');
      await start(process.env);
    });
}
