import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

interface LevelOptions {
  testTimeout: number;
  hookTimeout: number;
  fileParallelism?: boolean;
  globalSetup?: string[];
}

/** One Redis for the whole run; unit tests have none. */
const globalSetup = ['test/support/redis-setup.ts'];

/** Each level of test is a project of its own, so that one level can be run by its name. */
const level = (name: string, options: LevelOptions) => ({
  extends: true as const,
  test: { name, include: [`test/${name}/**/*.test.ts`], ...options },
});

export default defineConfig({
  // The sources are run as they stand: `#shared/x.js` means `shared/x.ts` here (package.json, "imports").
  ssr: { resolve: { conditions: ['source'] } },
  resolve: {
    conditions: ['source'],
    // The global setup is loaded without those conditions.
    alias: [{ find: /^#shared\/(.*)\.js$/, replacement: fileURLToPath(new URL('shared/$1.ts', import.meta.url)) }],
  },
  test: {
    environment: 'node',
    pool: 'forks',
    projects: [
      level('unit', { testTimeout: 10_000, hookTimeout: 10_000 }),
      level('integration', { testTimeout: 30_000, hookTimeout: 60_000, globalSetup }),
      level('e2e', { testTimeout: 120_000, hookTimeout: 120_000, fileParallelism: false, globalSetup }),
      // The page and the notice in a real Chromium; needs one (apt-get install chromium, or CHROMIUM_PATH).
      level('browser', { testTimeout: 90_000, hookTimeout: 90_000, fileParallelism: false, globalSetup }),
      // The real Claude Code binary against a fake model API; fetches the Agent SDK (400 MB) where it is missing.
      level('claude', {
        testTimeout: 180_000,
        hookTimeout: 120_000,
        fileParallelism: false,
        globalSetup: ['test/support/claude-setup.ts', ...globalSetup],
      }),
    ],
  },
});
