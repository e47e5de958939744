import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * As much of `@anthropic-ai/claude-agent-sdk` as this server uses, in our own words: the package is 400 MB and is not there
 * in most installations, so neither types nor code may be needed before somebody asks for real sessions.
 */
export interface AgentSdk {
  query(call: { prompt: AsyncIterable<SdkUserMessage>; options: Record<string, unknown> }): SdkQuery;
}

export interface SdkQuery extends AsyncIterable<unknown> {
  interrupt(): Promise<unknown>;
  stopTask(taskId: string): Promise<void>;
  /** Ends the process behind the session. */
  close(): void;
}

export interface SdkUserMessage {
  type: 'user';
  message: { role: 'user'; content: string };
  parent_tool_use_id: null;
  /** Comes back in the result that answers the message. */
  uuid: string;
  /** Honoured for `human`; without it the entry is a program's. */
  origin?: { kind: 'human' };
}

const PACKAGE = join('node_modules', '@anthropic-ai', 'claude-agent-sdk', 'sdk.mjs');
const HERE = fileURLToPath(new URL('.', import.meta.url));
/** Beside the source, also when this file runs from `dist/examples/chat-server`. */
const PLACES = [HERE, join(HERE, '..', '..', '..', 'examples', 'chat-server')];

/** Loads the SDK; where it is in none of the places, one sentence says how to install it. */
export async function loadAgentSdk(places: readonly string[] = PLACES): Promise<AgentSdk> {
  const file = places.map((place) => join(place, PACKAGE)).find((path) => existsSync(path));
  if (file === undefined) {
    throw new Error(
      'Real Claude Code sessions need the Agent SDK (400 MB): install it with `npm ci --prefix examples/chat-server`.',
    );
  }
  const module: unknown = await import(pathToFileURL(file).href);
  if (!isAgentSdk(module)) throw new Error(`${file} has no query(): it is not the Agent SDK that this server knows.`);
  return module;
}

const isAgentSdk = (module: unknown): module is AgentSdk =>
  typeof module === 'object' && module !== null && 'query' in module && typeof module.query === 'function';
