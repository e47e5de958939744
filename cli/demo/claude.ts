import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fromSource, packageRoot } from '../checkout.ts';
import { run } from '../provision/run.ts';
import type { Runtime } from './runtime.ts';

const EXAMPLE = join(packageRoot, 'examples', 'chat-server');
const SDK = join(EXAMPLE, 'node_modules', '@anthropic-ai', 'claude-agent-sdk');
const INSTALL_WITHIN_MS = 15 * 60_000;

/** Real Claude Code sessions that talk to a model API of ours on loopback: no key, and nothing leaves this machine. */
export async function claudeRuntime(note: (sentence: string) => void): Promise<Runtime> {
  if (!fromSource)
    throw new Error('demo --claude needs a checkout of the repository: the fake model API is in its tests.');
  await installSdk(note);
  const api = await startFakeApi();
  return {
    env: {
      RUNTIME: 'claude',
      ANTHROPIC_BASE_URL: api.url,
      ANTHROPIC_API_KEY: 'not-a-key',
      // What the runtime sends around a prompt depends on the model; the fake one reads this model's.
      CLAUDE_MODEL: 'claude-sonnet-4-5',
      // The model's words are our own: there is nothing to ask a person about.
      CLAUDE_PERMISSION_MODE: 'bypassPermissions',
    },
    // The fake model runs what stands behind BG:: in the background.
    hung: { prompt: 'Please build the project. BG::sleep 600', killAfterTurn: true },
    healthy: { prompt: 'Please build the project. BG::sleep 3' },
    giveUpAfterS: 180,
    stop: () => api.close(),
  };
}

async function installSdk(note: (sentence: string) => void): Promise<void> {
  if (existsSync(SDK)) return;
  note('Installing the Claude Agent SDK for the example chat server; it is 400 MB, so this takes a while.');
  const args = ['ci', '--prefix', EXAMPLE, '--no-audit', '--no-fund'];
  const install = await run('npm', args, { timeoutMs: INSTALL_WITHIN_MS });
  if (install.code !== 0) throw new Error(`npm ${args.join(' ')} failed: ${install.stderr.trim()}`);
}

interface FakeApi {
  url: string;
  close(): Promise<void>;
}

/** Loaded by its address: the tests are no part of the built package. */
async function startFakeApi(): Promise<FakeApi> {
  const address = new URL('../../test/support/fake-messages-api.ts', import.meta.url).href;
  const loaded: unknown = await import(address);
  const start: unknown =
    typeof loaded === 'object' && loaded !== null ? Reflect.get(loaded, 'startFakeMessagesApi') : 0;
  const api: unknown = typeof start === 'function' ? await start() : undefined;
  if (!isFakeApi(api)) throw new Error(`${address} offers no startFakeMessagesApi.`);
  return api;
}

function isFakeApi(value: unknown): value is FakeApi {
  return typeof value === 'object' && value !== null && 'url' in value && 'close' in value;
}
