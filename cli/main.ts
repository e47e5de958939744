#!/usr/bin/env node
import { Command, CommanderError } from 'commander';
import { packageVersion } from './checkout.ts';
import { registerConformance } from './conformance/register.ts';
import { registerDemo } from './demo/register.ts';
import { registerDoctor } from './doctor/register.ts';
import { registerExplain } from './explain.ts';
import { registerHealth } from './health/register.ts';
import { registerHooks } from './hooks/register.ts';
import { registerScan } from './scan.ts';
import { registerStart } from './start/register.ts';

/** Bad usage ends with 2, so that scripts can tell it from a failure (1). */
const BAD_USAGE = 2;

async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('chat-recovery')
    .description('Brings hung Claude Code chats back.')
    .version(packageVersion())
    .showHelpAfterError('(add --help for the options)')
    .exitOverride();
  const commands = [
    registerStart,
    registerDemo,
    registerExplain,
    registerScan,
    registerConformance,
    registerHooks,
    registerHealth,
    registerDoctor,
  ];
  for (const register of commands) register(program);
  await program.parseAsync([...argv]);
}

try {
  await main(process.argv);
} catch (error) {
  if (error instanceof CommanderError) {
    // Help and version are no failure.
    process.exitCode = error.exitCode === 0 ? 0 : BAD_USAGE;
  } else {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
