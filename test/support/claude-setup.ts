import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../../examples/chat-server/', import.meta.url));
const SDK = `${FOLDER}node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs`;

/** Installs the Agent SDK, and Claude Code with it, as the example's lock file has them, unless they are there. */
export default function setup(): void {
  if (existsSync(SDK)) return;
  console.log('Installing the Agent SDK for the real Claude Code tests (400 MB) …');
  const npm = spawnSync('npm', ['ci', '--no-audit', '--no-fund', '--prefix', FOLDER], { stdio: 'inherit' });
  if (npm.status !== 0)
    throw new Error('The Agent SDK could not be installed: `npm ci --prefix examples/chat-server` failed.');
}
