import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { messagesRequestSchema, promptOf, replyTo, type MessagesRequest, type Prompt } from './fake-messages-reply.ts';
import { replyOf, sendError, sendJson, sendStream } from './fake-messages-wire.ts';

/** Changes what the fake model does with prompts that match. */
export interface FakeRule {
  /** Held against the last message, the runtime's reminders included. */
  match: RegExp;
  /** How often the rule applies; without it, always. */
  times?: number;
  /** Answers this much later. */
  delayMs?: number;
  /** Answers with this HTTP status instead. */
  error?: number;
  /** Says this instead. */
  text?: string;
}

/** A model call as it was answered. */
export interface FakeCall {
  prompt: Prompt;
  reply: string;
}

export interface FakeMessagesApi {
  /** For `ANTHROPIC_BASE_URL`. */
  url: string;
  calls: FakeCall[];
  /** May be changed while the server runs. */
  rules: FakeRule[];
  close(): Promise<void>;
}

/**
 * A Messages API on loopback that Claude Code can talk to: no key, no model, always the same answers
 * (fake-messages-reply.ts has the directives).
 */
export async function startFakeMessagesApi(rules: FakeRule[] = []): Promise<FakeMessagesApi> {
  const calls: FakeCall[] = [];
  const server = createServer((request, response) => {
    handle(request, response, rules, calls).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${port}`, calls, rules, close };
}

async function handle(
  request: IncomingMessage,
  response: ServerResponse,
  rules: FakeRule[],
  calls: FakeCall[],
): Promise<void> {
  const body = await readBody(request);
  const path = new URL(request.url ?? '/', 'http://fake').pathname;
  if (path !== '/v1/messages') return sendOther(response, path);
  const parsed = messagesRequestSchema.safeParse(body);
  if (!parsed.success) return sendError(response, 400);
  await answer(parsed.data, response, rules, calls);
}

async function answer(
  request: MessagesRequest,
  response: ServerResponse,
  rules: FakeRule[],
  calls: FakeCall[],
): Promise<void> {
  const prompt = promptOf(request);
  const rule = takeRule(rules, prompt.full);
  if (rule?.delayMs !== undefined && !(await stays(response, rule.delayMs))) return;
  if (rule?.error !== undefined) {
    calls.push({ prompt, reply: `HTTP ${rule.error}` });
    return sendError(response, rule.error);
  }
  const blocks = rule?.text === undefined ? replyTo(prompt) : [{ type: 'text' as const, text: rule.text }];
  calls.push({ prompt, reply: JSON.stringify(blocks) });
  const reply = replyOf(blocks, request.model);
  if (request.stream) sendStream(response, reply);
  else sendJson(response, reply);
}

/** Waits; `false` as soon as the client has gone away. */
async function stays(response: ServerResponse, delayMs: number): Promise<boolean> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  await sleep(delayMs, undefined, { signal: gone.signal }).catch((error: unknown) => {
    if (!gone.signal.aborted) throw error;
  });
  return !gone.signal.aborted;
}

/** The first rule that fits and is not used up. */
function takeRule(rules: FakeRule[], text: string): FakeRule | undefined {
  const rule = rules.find(({ match, times }) => (times ?? 1) > 0 && match.test(text));
  if (rule?.times !== undefined) rule.times -= 1;
  return rule;
}

/** Token counts and whatever else the client asks for. */
function sendOther(response: ServerResponse, path: string): void {
  const body = path.endsWith('/count_tokens') ? { input_tokens: 10 } : {};
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) if (Buffer.isBuffer(chunk)) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}
