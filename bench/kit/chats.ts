import { randomUUID } from 'node:crypto';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A chat's transcript as the benches write it: one turn that left a background task behind, after `fillBytes` of older talk. */
export interface BenchChat {
  sessionId: string;
  path: string;
}

/** Files of one project folder; Claude Code keeps a folder for each working directory. */
const CHATS_PER_FOLDER = 100;

export function makeChats(root: string, count: number, fillBytes = 24_000): BenchChat[] {
  return Array.from({ length: count }, (_, n) => {
    const sessionId = randomUUID();
    const path = join(root, `-home-someone-${Math.floor(n / CHATS_PER_FOLDER)}`, `${sessionId}.jsonl`);
    if (n % CHATS_PER_FOLDER === 0) mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${fill(sessionId, fillBytes)}${turnOf(sessionId, 1)}`);
    return { sessionId, path };
  });
}

/** The chat's task is killed: from now on it hangs. */
export function kill(chat: BenchChat): void {
  killTask(chat, 1);
}

/** The same for the background task of the chat's turn number `turn`. */
export function killTask({ path, sessionId }: BenchChat, turn: number): void {
  const content = notice('killed', turn);
  appendFileSync(path, line(sessionId, { type: 'queue-operation', operation: 'enqueue', content }));
}

/** One more turn like the first, with a background task of its own. */
export function appendTurn({ path, sessionId }: BenchChat, turn: number): void {
  appendFileSync(path, turnOf(sessionId, turn));
}

/** An entry that means nothing for the watch. */
export function chatter({ path, sessionId }: BenchChat): void {
  appendFileSync(path, line(sessionId, { type: 'last-prompt', lastPrompt: 'Build it.' }));
}

/** A prompt and its reply: whatever hung does not any more. */
export function reply({ path, sessionId }: BenchChat, text: string): void {
  const prompt = { type: 'user', message: { role: 'user', content: text }, promptSource: 'sdk', turnOrigin: 'sdk' };
  appendFileSync(
    path,
    line(sessionId, prompt) + line(sessionId, assistant([{ type: 'text', text: 'Going on.' }], 'end_turn')),
  );
}

const line = (sessionId: string, entry: object): string =>
  `${JSON.stringify({
    uuid: randomUUID(),
    timestamp: new Date().toISOString(),
    sessionId,
    isSidechain: false,
    version: '2.1.332',
    ...entry,
  })}\n`;

const assistant = (content: unknown, stopReason: string): object => ({
  type: 'assistant',
  message: { role: 'assistant', model: 'claude-sonnet-4-5', stop_reason: stopReason, content },
});

const notice = (status: string, turn: number): string =>
  [
    '<task-notification>',
    `<task-id>b${turn}</task-id>`,
    `<tool-use-id>toolu_${turn}</tool-use-id>`,
    `<status>${status}</status>`,
    '<summary>Background command "Run the long build" was stopped</summary>',
    '</task-notification>',
  ].join('\n');

const turnOf = (sessionId: string, turn: number): string =>
  [
    { type: 'user', message: { role: 'user', content: 'Build it.' }, origin: { kind: 'human' }, promptSource: 'typed' },
    assistant(
      [{ type: 'tool_use', id: `toolu_${turn}`, name: 'Bash', input: { command: 'make', run_in_background: true } }],
      'tool_use',
    ),
    {
      type: 'user',
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${turn}`, content: 'started' }] },
      toolUseResult: { backgroundTaskId: `b${turn}` },
    },
    assistant([{ type: 'text', text: 'It runs in the background.' }], 'end_turn'),
  ]
    .map((entry) => line(sessionId, entry))
    .join('');

const PROSE = 'Read the file first. Use quotes for paths, and keep lines short; then run the tests.\n';

/** Older talk, an answer of about 1,200 bytes a line. */
function fill(sessionId: string, bytes: number): string {
  if (bytes === 0) return '';
  const one = line(sessionId, assistant([{ type: 'text', text: PROSE.repeat(12) }], 'end_turn'));
  return one.repeat(Math.max(1, Math.round(bytes / one.length)));
}
