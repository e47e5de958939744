import { spawnSync } from 'node:child_process';
import { watchDrift } from './drift/watch.ts';

/**
 * `npm run test:claude`: the tests with the real Claude Code that the example pins; further arguments go to vitest.
 * `npm run test:claude -- --cli [VERSION]`: the drift watch with that version, without one with the newest.
 */
const args = process.argv.slice(2);
const at = args.findIndex((argument) => argument === '--cli' || argument.startsWith('--cli='));
if (at === -1) {
  const vitest = spawnSync('npx', ['vitest', 'run', '--project', 'claude', ...args], { stdio: 'inherit' });
  process.exitCode = vitest.status ?? 1;
} else {
  const wanted = args[at]?.split('=')[1] ?? args[at + 1] ?? 'latest';
  process.exitCode = (await watchDrift(wanted)) ? 0 : 1;
}
