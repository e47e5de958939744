import { InvalidArgumentError, Option, type Command } from 'commander';
import type { DemoOptions } from './demo.ts';

/** `chat-recovery demo`. */
export function registerDemo(program: Command): void {
  program
    .command('demo')
    .description('show a chat that hangs and comes back, and a healthy one that is left alone')
    .option('--once', 'end by itself: 0 when the hung chat was nudged once and answered, 1 otherwise', false)
    .option('--claude', 'real Claude Code sessions against a fake model API (downloads the Agent SDK once)', false)
    .option('--workers <count>', 'worker processes', count, 2)
    .option('--give-up-after <seconds>', 'with --once: how long to wait for the end of the story', count)
    .addOption(new Option('--sabotage <deed>').choices(['second-nudge', 'nudge-healthy']).hideHelp())
    .addHelpText('after', '\nIt works in a temporary folder, on loopback ports and with secrets of its own.')
    .action(async (options: DemoOptions) => {
      const { demo } = await import('./demo.ts');
      await demo(options, process.env);
    });
}

function count(text: string): number {
  if (!/^\d{1,4}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}
