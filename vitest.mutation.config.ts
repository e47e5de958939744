import { defineConfig } from 'vitest/config';

/** The tests that hold the rules, for mutation testing: quick and the same in every run (no random chats). */
export default defineConfig({
  ssr: { resolve: { conditions: ['source'] } },
  resolve: { conditions: ['source'] },
  test: {
    environment: 'node',
    pool: 'forks',
    include: [
      'test/unit/transcript/{fixtures,reported-shapes,rules,replay,stopping,notification}.test.ts',
      'test/unit/worker/decide.test.ts',
    ],
  },
});
