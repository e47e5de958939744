import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

export interface ClaudeOptions {
  /** Key for the model API; also a made-up one where `baseUrl` is a fake. */
  apiKey?: string | undefined;
  /** Where the model API is, where it is not Anthropic's own. */
  baseUrl?: string | undefined;
  model?: string | undefined;
  /** `bypassPermissions` lets sessions run any command unasked: only for a fake model API or a throw-away machine. */
  permissionMode?: 'default' | 'acceptEdits' | 'bypassPermissions' | undefined;
}

/**
 * The whole environment of a session's process: nothing is inherited but the path, so that neither the operator's own
 * Claude settings nor their credentials get into it.
 */
export function claudeEnvironment(options: ClaudeOptions, claudeHome: string): Record<string, string> {
  const home = join(claudeHome, 'home');
  mkdirSync(home, { recursive: true });
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: home,
    // Transcripts go to <claudeHome>/projects/…
    CLAUDE_CONFIG_DIR: claudeHome,
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    ...(options.permissionMode === 'bypassPermissions' ? { IS_SANDBOX: '1' } : {}),
    ...(options.apiKey === undefined ? {} : { ANTHROPIC_API_KEY: options.apiKey }),
    ...(options.baseUrl === undefined ? {} : { ANTHROPIC_BASE_URL: options.baseUrl }),
  };
}
