import { randomUUID } from 'node:crypto';
import type { Chat } from '../watcher/chat.ts';
import type { RunningWatcher } from '../watcher/harness.ts';

export const HOOK_TOKEN = 'hook-token-of-a-test';

/** A payload as Claude Code 2.1.332 sends it (`test/fixtures/hooks`). */
export function payload(chat: Chat, event: string, fields: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    session_id: chat.sessionId,
    transcript_path: chat.path,
    cwd: '/home/dev/p1',
    prompt_id: randomUUID(),
    permission_mode: 'default',
    hook_event_name: event,
    ...(event === 'Stop' ? { stop_hook_active: false, last_assistant_message: 'Done.', background_tasks: [] } : {}),
    ...fields,
  };
}

/** Posts a payload as Claude Code does. */
export function post(
  watcher: RunningWatcher,
  body: unknown,
  headers: Record<string, string> = { authorization: `Bearer ${HOOK_TOKEN}` },
): Promise<Response> {
  return fetch(`${watcher.url}/v1/hooks/claude-code`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

/** One line of the watcher's count of hooks. */
export async function counted(watcher: RunningWatcher, event: string, outcome: string): Promise<number> {
  const text = await (await watcher.call('/metrics')).text();
  const line = text
    .split('\n')
    .find((one) => one.startsWith(`chat_recovery_hooks_total{event="${event}",outcome="${outcome}"}`));
  return Number(line?.split(' ').at(-1) ?? 0);
}
