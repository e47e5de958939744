import { describe, expect, test } from '../../support/leaks.ts';
import { eventually } from '../../support/events.ts';
import { startProcess } from '../../support/processes.ts';

const start = (how: string) => startProcess({ file: 'test/fixtures/programs/stopper.ts', args: [how] });

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('a process that is stopped', () => {
  test.for(['SIGTERM', 'SIGINT'] as const)(
    'ends with 0 on %s after everything was stopped in order',
    async (signal) => {
      const program = await start('clean');
      expect(await program.stop(signal)).toEqual({ code: 0, signal: null });
      expect(program.lines.join('\n')).toContain('Stopped.');
    },
  );

  test('ends with 0 when it stops itself', async () => {
    const program = await start('by-itself');
    expect(await program.exited).toEqual({ code: 0, signal: null });
  });

  test('names what was left at the deadline and ends with 1', async () => {
    const program = await start('hangs');
    const { code } = await program.stop();
    expect(code).toBe(1);
    expect(await program.line(/Not everything ended in time/)).toContain('"left":["second part"]');
  });

  test('ends with 1 when stopping fails, and says which part', async () => {
    const program = await start('fails');
    expect((await program.stop()).code).toBe(1);
    expect(await program.line(/Stopping failed/)).toContain('second part');
  });

  test('takes the same Ctrl-C twice (terminal and npm) for one', async () => {
    const program = await start('clean');
    program.signal('SIGINT');
    expect(await program.stop('SIGINT')).toEqual({ code: 0, signal: null });
  });

  test('ends at once with 1 on a second signal half a second later', async () => {
    const program = await start('hangs-long');
    program.signal('SIGTERM');
    await program.line(/Still stopping/);
    expect((await program.stop('SIGTERM')).code).toBe(1);
    expect(program.lines.join('\n')).not.toContain('Not everything ended');
  });

  test('ends when its supervisor is gone', async () => {
    const supervisor = await startProcess({ file: 'test/fixtures/programs/supervisor.ts' });
    const pid = Number(/child (\d+)/.exec(supervisor.readyLine)?.[1]);
    await supervisor.stop('SIGKILL');
    await eventually(() => !isAlive(pid), { what: 'the end of the child' });
  });

  test('stops in order after an uncaught error, logs it, and ends with 1', async () => {
    const program = await start('throws');
    expect((await program.exited).code).toBe(1);
    expect(program.lines.join('\n')).toMatch(/nobody caught this[\s\S]*Stopped\./);
  });
});
