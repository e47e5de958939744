import {
  type Clocks,
  type Finding,
  type Judgement,
  type ReadContext,
  type ReadOutcome,
} from '#shared/transcript/finding.js';
import type { BackwardsOptions } from '#shared/transcript/backwards.js';
import { createMemorySource } from '#shared/transcript/source.js';
import { judge } from '#shared/transcript/signature.js';
import { readFinding } from '#shared/transcript/tail.js';

export const SESSION = 'a0000000-0000-4000-8000-00000000000a';
export const OTHER_SESSION = 'b0000000-0000-4000-8000-00000000000b';
const START_MS = Date.parse('2026-01-15T10:00:00.000Z');

export interface NoticeFields {
  task?: string;
  status?: string;
  call?: string | undefined;
  summary?: string;
}

/** A notification's payload as the runtime writes it. */
export const payload = ({
  task = 'b1',
  status = 'killed',
  call = 'toolu_1',
  summary = 'it was stopped',
}: NoticeFields = {}): string =>
  [
    '<task-notification>',
    `<task-id>${task}</task-id>`,
    ...(call === '' ? [] : [`<tool-use-id>${call}</tool-use-id>`]),
    `<status>${status}</status>`,
    `<summary>${summary}</summary>`,
    '</task-notification>',
  ].join('\n');

export type Fields = Record<string, unknown>;

/**
 * Writes a chat's lines in the runtime's shapes, for shapes that no recorded fixture has. Each line is a second later than
 * the one before unless it says otherwise.
 */
export class ChatLines {
  readonly lines: string[] = [];
  #seconds = 0;

  raw(line: string): this {
    this.lines.push(line);
    return this;
  }

  entry(fields: Fields): this {
    const n = this.lines.length;
    const timestamp = new Date(START_MS + this.#seconds * 1_000).toISOString();
    this.#seconds += 1;
    return this.raw(JSON.stringify({ uuid: `u-${n}`, timestamp, sessionId: SESSION, version: '2.1.332', ...fields }));
  }

  user(content: unknown, fields: Fields = {}): this {
    return this.entry({ type: 'user', isSidechain: false, message: { role: 'user', content }, ...fields });
  }

  human(text = 'Please build it.', fields: Fields = {}): this {
    return this.user(text, { promptSource: 'sdk', ...fields });
  }

  assistant(content: unknown, fields: Fields = {}, message: Fields = {}): this {
    return this.entry({
      type: 'assistant',
      isSidechain: false,
      message: { role: 'assistant', model: 'claude-sonnet-4-5', stop_reason: 'end_turn', content, ...message },
      ...fields,
    });
  }

  reply(text = 'Done.', fields: Fields = {}): this {
    return this.assistant([{ type: 'text', text }], fields);
  }

  synthetic(text: string, fields: Fields = {}): this {
    return this.assistant([{ type: 'text', text }], fields, { model: '<synthetic>', stop_reason: 'stop_sequence' });
  }

  apiError(fields: Fields = { apiErrorStatus: 500 }): this {
    return this.synthetic('API Error: it failed', { isApiErrorMessage: true, ...fields });
  }

  call(id: string, name = 'Bash', input: Fields = {}): this {
    return this.assistant([{ type: 'tool_use', id, name, input }], {}, { stop_reason: 'tool_use' });
  }

  result(id: string, fields: Fields = {}, block: Fields = {}): this {
    return this.user([{ type: 'tool_result', tool_use_id: id, content: 'ok', ...block }], fields);
  }

  /** A background command, launched and confirmed. */
  launch(task = 'b1', call = 'toolu_1'): this {
    return this.call(call, 'Bash', { run_in_background: true }).result(call, {
      toolUseResult: { backgroundTaskId: task },
    });
  }

  /** A whole turn that leaves a background task behind. */
  turn(task = 'b1', call = 'toolu_1'): this {
    return this.human().launch(task, call).reply('It runs in the background.');
  }

  enqueue(content: unknown, fields: Fields = {}): this {
    return this.entry({ type: 'queue-operation', operation: 'enqueue', content, ...fields });
  }

  kill(fields: NoticeFields = {}, entry: Fields = {}): this {
    return this.enqueue(payload(fields), entry);
  }

  queue(operation: string, fields: Fields = {}): this {
    return this.entry({ type: 'queue-operation', operation, ...fields });
  }

  dequeue(): this {
    return this.queue('dequeue');
  }

  /** The notification as a prompt of its own: a wake. */
  delivered(fields: NoticeFields = {}, entry: Fields = {}): this {
    return this.user(payload(fields), { origin: { kind: 'task-notification' }, promptSource: 'system', ...entry });
  }

  /** The notification folded into a running turn. */
  folded(fields: NoticeFields = {}, entry: Fields = {}): this {
    const attachment = { type: 'queued_command', commandMode: 'task-notification', prompt: payload(fields) };
    return this.entry({ type: 'attachment', isSidechain: false, attachment, ...entry });
  }

  nudge(text = '[Paddock recovery] A task of yours was ended by the runtime.', fields: Fields = {}): this {
    return this.user(text, { promptSource: 'sdk', turnOrigin: 'sdk', ...fields });
  }

  interruption(text = '[Request interrupted by user]'): this {
    return this.user([{ type: 'text', text }]);
  }

  retry(): this {
    return this.entry({ type: 'system', subtype: 'api_error', isSidechain: false });
  }

  compaction(trigger = 'auto'): this {
    return this.entry({ type: 'system', subtype: 'compact_boundary', compactMetadata: { trigger } });
  }

  bytes(): Buffer {
    return Buffer.from(`${this.lines.join('\n')}\n`);
  }
}

export const chat = (): ChatLines => new ChatLines();

export const contextOf = (fields: Partial<ReadContext> = {}): ReadContext => ({
  sessionId: SESSION,
  answeredTaskIds: new Set(),
  senderLabels: [],
  scanLimitBytes: 64 * 1_024 * 1_024,
  ...fields,
});

/** Reads bytes as a transcript, in memory. */
export const outcomeOf = async (
  content: ChatLines | Buffer,
  context: Partial<ReadContext> = {},
  blocks: Partial<BackwardsOptions> = {},
): Promise<ReadOutcome> => {
  const bytes = Buffer.isBuffer(content) ? content : content.bytes();
  return readFinding(createMemorySource(new Map([['chat', bytes]])), 'chat', contextOf(context), blocks);
};

export const findingIn = async (
  content: ChatLines | Buffer,
  context: Partial<ReadContext> = {},
  blocks: Partial<BackwardsOptions> = {},
): Promise<Finding> => {
  const outcome = await outcomeOf(content, context, blocks);
  if (outcome.kind !== 'read') throw new Error(`expected a finding, got ${JSON.stringify(outcome)}`);
  return outcome.finding;
};

/** Clocks by which everything was first seen `seenAgoMs` ago. */
export const clocksAgo = (seenAgoMs: number, fields: Partial<Clocks> = {}): Clocks => ({
  nowMs: 1_000_000,
  noticeSeenMs: 1_000_000 - seenAgoMs,
  wakeSeenMs: 1_000_000 - seenAgoMs,
  debounceMs: 5_000,
  wakeGraceMs: 30_000,
  ...fields,
});

/** The judgement of a chat of which everything was first seen ten minutes ago (or as said). */
export const judged = async (
  content: ChatLines | Buffer,
  context: Partial<ReadContext> = {},
  seenAgoMs = 600_000,
): Promise<Judgement> => judge(await findingIn(content, context), clocksAgo(seenAgoMs));

/** Verdict and reason alone, as tests compare them. */
export const verdictIn = async (
  content: ChatLines | Buffer,
  context: Partial<ReadContext> = {},
  seenAgoMs = 600_000,
): Promise<string> => {
  const { verdict, reason } = await judged(content, context, seenAgoMs);
  return `${verdict}: ${reason}`;
};
