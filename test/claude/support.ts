import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Chat } from '../../examples/chat-server/chat.ts';
import type { ClaudeOptions } from '../../examples/chat-server/claude-environment.ts';
import type { Happening } from '../../examples/chat-server/happenings.ts';
import { startExampleChatServer, type ExampleChatServer } from '../../examples/chat-server/start.ts';
import type { Judgement } from '#shared/transcript/finding.js';
import { judge } from '#shared/transcript/signature.js';
import { localFiles } from '#shared/transcript/source.js';
import { readFinding } from '#shared/transcript/tail.js';
import { startFakeMessagesApi, type FakeMessagesApi } from '../support/fake-messages-api.ts';
import { test as base } from '../support/leaks.ts';

export interface ClaudeWorld {
  dir: string;
  api: FakeMessagesApi;
  server: ExampleChatServer;
  /** Ends the chat server and starts another one on the same folder. */
  restart(more?: ClaudeOptions): Promise<ExampleChatServer>;
}

const FAKE = { apiKey: 'fake', model: 'claude-sonnet-4-5', permissionMode: 'bypassPermissions' } as const;

/** Real Claude Code sessions in a folder of their own, against a model API of their own. */
export const test = base.extend<{ claude: ClaudeWorld }>({
  claude: async ({ leaks: _leaks }, use) => {
    const dir = mkdtempSync(join(tmpdir(), 'real-claude-'));
    const api = await startFakeMessagesApi();
    const start = (more: ClaudeOptions = {}) =>
      startExampleChatServer({
        dataDir: dir,
        runtime: 'claude',
        claude: { ...FAKE, baseUrl: api.url, ...more },
      });
    const world: ClaudeWorld = {
      dir,
      api,
      server: await start(),
      restart: async (more) => {
        await world.server.close();
        world.server = await start(more);
        return world.server;
      },
    };
    await use(world);
    await world.server.close();
    await api.close();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  },
});

/** The first happening of a kind in a chat, past or to come. */
export const happened = (
  server: ExampleChatServer,
  chat: Chat,
  kind: string,
  fits: (fields: Happening['fields']) => boolean = () => true,
) =>
  server.happenings.wait(
    (happening) => happening.sessionId === chat.id && happening.kind === kind && fits(happening.fields),
    60_000,
  );

/** What the detector says of a chat whose newest notification has stood for ten seconds. */
export async function verdict(chat: Chat): Promise<Judgement> {
  const read = await readFinding(localFiles, chat.record.transcriptPath, {
    sessionId: chat.id,
    answeredTaskIds: new Set(),
    senderLabels: [],
    scanLimitBytes: 64 * 1024 * 1024,
  });
  if (read.kind !== 'read') throw new Error(`the transcript was not read: ${read.kind}`);
  const nowMs = Date.now();
  const seenMs = nowMs - 10_000;
  const clocks = { noticeSeenMs: seenMs, wakeSeenMs: seenMs, debounceMs: 5_000, wakeGraceMs: 30_000 };
  return judge(read.finding, { nowMs, ...clocks });
}

export const NUDGE = {
  text: '[Paddock recovery] A background task of this chat was ended. Please go on in the foreground.',
  sender: { kind: 'recovery' as const, label: 'Paddock recovery' },
  onlyIfIdle: true as const,
};
