import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { parse } from 'yaml';
import { loadSettings } from '#shared/settings/environment.js';
import { eventually } from '../../support/events.ts';
import { codeBlocks } from '../../support/host-pages.ts';
import { describe, expect } from '../../support/leaks.ts';
import { test } from './commands.ts';

function hasTmux(): boolean {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const script = codeBlocks('tmux.md', 'sh').find((code) => code.startsWith('#!')) ?? '';
const { settings } = loadSettings({ HOME: '/h' }, parse(codeBlocks('tmux.md', 'yaml')[0] ?? ''));

describe.skipIf(!hasTmux())('a session in tmux', () => {
  test('is asked and told by the commands of the page', async ({ desk }) => {
    // A tmux server of the test's own.
    const tmux = ['tmux', '-S', join(desk.root, 'tmux.sock')];
    const own = (command: string[]): string[] => (command[0] === 'tmux' ? [...tmux, ...command.slice(1)] : command);
    const run = (...args: string[]): string => execFileSync('tmux', [...tmux.slice(1), ...args], { encoding: 'utf8' });
    const status = desk.script('status', script.replaceAll('tmux ', `${tmux.join(' ')} `));
    const driver = desk.driver({
      into: 'live',
      send: own(settings.chatServers[0]?.sessionApi.send ?? []),
      status: [status, '{sessionId}'],
      env: { PATH: process.env['PATH'] ?? '', HOME: desk.root, TERM: 'xterm' },
    });
    expect(await desk.state(driver)).toBeUndefined();
    const program = desk.script(
      'chat',
      `while read -r line; do printf '%s\\n' "$line" >> ${desk.root}/typed; echo "$line"; done`,
    );
    run('-f', '/dev/null', 'new-session', '-d', '-x', '200', '-y', '50', '-s', desk.sessionId, program);
    try {
      expect(await desk.state(driver)).toMatchObject({ state: 'idle' });
      await driver.send(desk.nudge);
      await eventually(() => desk.has('typed'));
      expect(desk.read('typed')).toBe('[Paddock recovery] It’s "$(date)"; go on. Second line.\n');
      run('send-keys', '-t', desk.sessionId, '-l', 'Pondering (12s, esc to interrupt)');
      await eventually(async () => (await desk.state(driver))?.state === 'running');
      run('send-keys', '-t', desk.sessionId, 'C-u');
      run('send-keys', '-t', desk.sessionId, '-l', 'Do you want to proceed?');
      run('clear-history', '-t', desk.sessionId);
      await eventually(async () => (await desk.state(driver))?.state === 'waiting');
    } finally {
      run('kill-server');
    }
  });
});
