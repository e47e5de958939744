import type { ChatRuntime } from './runtime.ts';

export interface ClaudeOptions {
  apiKey?: string | undefined;
  baseUrl?: string | undefined;
  model?: string | undefined;
}

export function createClaudeRuntime(_options: ClaudeOptions & { claudeHome: string }): ChatRuntime {
  return {
    open: async () => {
      throw new Error('not yet');
    },
  };
}
