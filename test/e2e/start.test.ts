import { describe, expect, test } from 'vitest';
import { startProcess } from '../support/processes.ts';

describe('a process that starts with wrong settings', () => {
  test.for(['services/watcher/main.ts', 'services/recovery-worker/main.ts'])(
    '%s names every wrong field at once, without a stack, and ends with status 2',
    async (file) => {
      const env = { HOST: '0.0.0.0', REDIS_URL: 'nonsense', LOG_LEVEL: 'info' };
      const process = await startProcess({ file, env, ready: undefined });
      expect(await process.exited).toEqual({ code: 2, signal: null });
      const output = process.lines.join('\n');
      expect(output).toContain('REDIS_URL');
      expect(output).toContain('ADMIN_TOKEN');
      expect(output).not.toContain('    at ');
    },
  );
});
