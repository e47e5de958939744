import { describe, expect } from '../../support/leaks.ts';
import { startProcess } from '../../support/processes.ts';
import { createChat, test } from '../chat-server/world.ts';

/** The command as a process: its output and its exit status. */
async function run(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = await startProcess({ file: 'cli/main.ts', args: ['conformance', ...args], ready: undefined });
  const { code } = await child.exited;
  return { code, output: child.lines.join('\n') };
}

describe('chat-recovery conformance', () => {
  test('ends with 0 where nothing is broken, and prints JSON for programs', async ({ world }) => {
    const server = await world.start();
    const { code, output } = await run(
      '--url',
      server.url,
      '--setup',
      `${server.url}/conformance`,
      '--only',
      'state',
      '--json',
    );
    expect(code).toBe(0);
    const { kept, checks } = JSON.parse(output) as { kept: boolean; checks: { id: string; verdict: string }[] };
    expect(kept).toBe(true);
    expect(new Set(checks.map(({ verdict }) => verdict))).toEqual(new Set(['kept']));
  });

  test('ends with 1 where something is, and says what comes of it', async ({ world }) => {
    const server = await world.start({ token: 'right' });
    const { sessionId } = await createChat(await world.start({ dataDir: `${world.dir}/other` }), { script: 'plain' });
    const { code, output } = await run('--url', server.url, '--session', sessionId, '--only', 'state-unknown');
    expect(code).toBe(1);
    expect(output).toMatch(
      /✗ An unknown session is 404 {2}state-unknown\n +Seen: .*401[^\n]*\n +So: Watches of deleted chats never end/,
    );
  });

  test('ends with 2 where it is not said which sessions may be spoken to', async () => {
    expect((await run('--url', 'http://127.0.0.1:1')).code).toBe(2);
    expect((await run('--url', 'http://127.0.0.1:1', '--session', 'x', '--wait', 'long')).code).toBe(2);
  });
});
