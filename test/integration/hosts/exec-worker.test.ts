import { spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SESSION_PROCESSES, sessionProcesses } from '#shared/liveness/session-processes.js';
import { eventually } from '../../support/events.ts';
import { describe, expect, test } from '../worker/support.ts';

describe('a worker with the exec driver', () => {
  test('says that a live process holds the session, and resumes it once that is dead', async ({ bench }) => {
    const dataDir = realpathSync(mkdtempSync(join(tmpdir(), 'exec-worker-')));
    const claude = join(dataDir, 'agent');
    writeFileSync(claude, `#!/bin/sh\nprintf '%s|' "$@" >> ${dataDir}/called\n`);
    chmodSync(claude, 0o755);
    await bench.worker({
      DATA_DIR: dataDir,
      SESSION_API_DRIVER: 'exec',
      SESSION_API_URL: '',
      SESSION_API_SEND: JSON.stringify([claude, '-p', '--resume', '{sessionId}', '{nudge}']),
    });
    const hung = await bench.hungChat({ autoReDrive: true });
    const holder = spawn('sleep', ['60'], { stdio: 'ignore' });
    await new Promise((resolve) => holder.once('spawn', resolve));
    await sessionProcesses(join(dataDir, SESSION_PROCESSES)).record(hung.chat.id, holder.pid ?? 0);

    await bench.look(hung);
    await eventually(async () => (await bench.trail(hung)).includes('deferred: process-alive'));
    expect(await bench.state(hung)).toBe('killed');
    holder.kill('SIGKILL');
    await eventually(async () => (await bench.state(hung)) === 'nudged', { what: 'the nudge' });
    const called = readFileSync(join(dataDir, 'called'), 'utf8');
    expect(called).toMatch(new RegExp(`^-p\\|--resume\\|${hung.chat.id}\\|\\[Paddock recovery\\]`));
    expect(called.split('--resume')).toHaveLength(2);
    rmSync(dataDir, { recursive: true, force: true });
  });
});
