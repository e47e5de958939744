import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadAgentSdk } from '../../../examples/chat-server/claude-sdk.ts';

test('without the Agent SDK one sentence says how to install it', async () => {
  await expect(loadAgentSdk(['/nowhere'])).rejects.toThrow(/^Real .*`npm ci --prefix examples\/chat-server`\.$/);
});

test('a package without query() is named as not the one that is known', async () => {
  const place = mkdtempSync(join(tmpdir(), 'sdk-'));
  const folder = join(place, 'node_modules', '@anthropic-ai', 'claude-agent-sdk');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'sdk.mjs'), 'export const other = 1;');
  await expect(loadAgentSdk([place])).rejects.toThrow(/has no query\(\)/);
  rmSync(place, { recursive: true });
});
