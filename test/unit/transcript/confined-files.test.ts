import { readdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import type { ReadOutcome } from '#shared/transcript/finding.js';
import { isOnLocalDisk } from '#shared/transcript/local-disk.js';
import { sessionIdOf } from '#shared/transcript/session-of.js';
import { confinedFiles, localFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import { contextOf } from '../../support/chat-lines.ts';

const FOLDER = realpathSync(join(import.meta.dirname, '../../fixtures/transcripts'));
const paths = readdirSync(FOLDER, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.jsonl'))
  .map((name) => join(FOLDER, name));

it('files read at the same time, out of blocks that are used again, read as each does by itself', async () => {
  // Known from now on, wherever this is a local disk: the files are read without the thread pool then.
  for (const path of paths) isOnLocalDisk(join(path, '..'));
  await vi.waitUntil(() => isOnLocalDisk(FOLDER), { timeout: 1_000 }).catch(() => undefined);
  const alone: ReadOutcome[] = [];
  const contexts = new Map<string, ReturnType<typeof contextOf>>();
  for (const path of paths) {
    const context = contextOf({ sessionId: (await sessionIdOf(localFiles, path)) ?? '' });
    contexts.set(path, context);
    alone.push(await readFinding(localFiles, path, context));
  }
  for (let round = 0; round < 3; round += 1) {
    const together = await Promise.all(
      paths.map((path) => readFinding(confinedFiles, path, contexts.get(path) ?? contextOf({ sessionId: '' }))),
    );
    expect(together).toEqual(alone);
  }
  expect(alone.length).toBeGreaterThan(100);
});
