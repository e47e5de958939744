import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { LifecycleClient } from '../../shared/client/index.ts';
import type { MessageRequest } from '../../shared/session-api/contract.ts';
import { defaultPath } from '../../shared/transcript/locate.ts';
import { Chat, type ChatParts } from './chat.ts';
import { ChatRecords } from './chat-record.ts';
import { busySession, goneSession, sessionExists, unknownSession } from './errors.ts';
import type { Happenings } from './happenings.ts';
import { IdempotencyStore, type RememberedMessage } from './idempotency.ts';
import type { ChatRuntime } from './runtime.ts';

export interface ChatsParts {
  dataDir: string;
  projectsDir: string;
  runtime: ChatRuntime;
  webhooks: LifecycleClient;
  happenings: Happenings;
}

export interface NewChat {
  project: string;
  prompt: string;
  script?: string | undefined;
  timings?: Record<string, number> | undefined;
  sessionId?: string | undefined;
}

/** All chats of this server, and the one way in that recovery has. */
export class Chats {
  readonly #parts: ChatsParts;
  readonly #chatParts: ChatParts;
  readonly #keys: IdempotencyStore;
  readonly #chats = new Map<string, Chat>();

  constructor(parts: ChatsParts) {
    this.#parts = parts;
    const records = new ChatRecords(join(parts.dataDir, 'chats'));
    this.#chatParts = { ...parts, save: (record) => records.save(record) };
    this.#keys = new IdempotencyStore(join(parts.dataDir, 'idempotency.jsonl'), Date.now());
    for (const record of records.load()) this.#chats.set(record.sessionId, new Chat(record, this.#chatParts));
  }

  /** Takes up what the last process left: cut turns are told as failed, promised messages that never began are begun. */
  async takeUp(): Promise<void> {
    const promised = this.#keys.unbegun().flatMap((message) => this.#openPromise(message));
    for (const chat of this.#chats.values()) chat.healAfterCrash();
    for (const { chat, message } of promised) {
      chat.record.turns.push({ turnId: message.turnId, cause: 'recovery' });
      await this.#begin(chat, message);
    }
  }

  all(): Chat[] {
    return [...this.#chats.values()];
  }

  /** Throws 404 for an unknown chat, 410 for one that is over unless `closedToo`. */
  get(id: string, closedToo = false): Chat {
    const chat = this.#chats.get(id);
    if (chat === undefined) throw unknownSession(id);
    if (chat.record.closed !== undefined && !closedToo) throw goneSession(id, chat.record.closed);
    return chat;
  }

  /** Throws 409 for an id that is taken. */
  async create({ project, prompt, script, timings = {}, sessionId = randomUUID() }: NewChat): Promise<Chat> {
    if (this.#chats.has(sessionId)) throw sessionExists(sessionId);
    const folder = project === '' ? this.#parts.projectsDir : join(this.#parts.projectsDir, project);
    mkdirSync(folder, { recursive: true });
    // Claude Code names the transcript's folder after the real path.
    const cwd = realpathSync(folder);
    const transcriptPath = defaultPath(join(this.#parts.dataDir, 'claude-home'), cwd, sessionId);
    const place = { sessionId, project, cwd, transcriptPath, timings, ...(script === undefined ? {} : { script }) };
    const chat = new Chat({ ...place, hadTurn: false, turns: [], waiting: false }, this.#chatParts);
    await chat.open();
    this.#chats.set(sessionId, chat);
    this.#parts.happenings.tell(sessionId, 'chat.created', { project, script });
    await chat.say(prompt);
    return chat;
  }

  /**
   * A message from recovery. The order is the contract: the key first, then whether the chat is free, and the promise on
   * disk before the turn. Nothing is awaited between "free" and "taken".
   */
  async deliver(id: string, key: string, request: MessageRequest): Promise<{ turnId: string }> {
    const earlier = this.#keys.find(id, key);
    if (earlier !== undefined) {
      this.#parts.happenings.tell(id, 'nudge.repeated', { key, turnId: earlier.turnId });
      return { turnId: earlier.turnId };
    }
    const chat = this.get(id);
    const busy = chat.busyCode();
    if (busy !== undefined) {
      this.#parts.happenings.tell(id, 'nudge.refused', { key, code: busy });
      throw busySession(busy);
    }
    const turnId = chat.reserve('recovery');
    try {
      await chat.open();
      this.get(id); // closed meanwhile
      this.#keys.remember({ sessionId: id, key, turnId, text: request.text, atMs: Date.now() });
    } catch (error) {
      chat.release(turnId);
      throw error;
    }
    this.#parts.happenings.tell(id, 'nudge.accepted', { key, turnId, text: request.text, label: request.sender.label });
    await this.#begin(chat, { key, turnId, text: request.text });
    return { turnId };
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map((chat) => chat.letGo()));
    this.#keys.close();
  }

  async #begin(chat: Chat, message: { key: string; turnId: string; text: string }): Promise<void> {
    try {
      await chat.run(message.turnId, 'recovery', message.text);
    } catch (error) {
      // The promise stands: the turn is told as failed, and the key still answers 202.
      this.#parts.happenings.tell(chat.id, 'nudge.failed', { key: message.key, error: String(error) });
    }
    this.#keys.begun(chat.id, message.key);
  }

  /** A promise that still has to be kept; its turn has not begun, so it is none that the crash cut. */
  #openPromise(message: RememberedMessage): { chat: Chat; message: RememberedMessage }[] {
    const chat = this.#chats.get(message.sessionId);
    if (chat === undefined || chat.record.closed !== undefined || hasPrompt(chat, message)) {
      this.#keys.begun(message.sessionId, message.key);
      return [];
    }
    chat.release(message.turnId);
    return [{ chat, message }];
  }
}

/** The crash came after the runtime had the message: its text stands in the transcript since the promise. */
function hasPrompt(chat: Chat, { text, atMs }: RememberedMessage): boolean {
  if (!existsSync(chat.record.transcriptPath)) return false;
  const since = new Date(atMs).toISOString();
  return readFileSync(chat.record.transcriptPath, 'utf8')
    .split('\n')
    .some((line) => line.includes(JSON.stringify(text)) && (/"timestamp":"([^"]+)"/.exec(line)?.[1] ?? '') >= since);
}
