import type { Attempt, Notice, SessionRecord, SessionState } from './record.ts';
import type { StateReason } from '#shared/trail/reasons.js';
import type { TaskNotice } from '#shared/transcript/finding.js';

/**
 * The record's hash as Redis holds it: short field names, all text (lua/prelude.lua writes them). Of the fields that scripts
 * alone read, `pts` holds the turns that earlier nudges started (claimNudge.lua, applyEvent.lua).
 */
export type RawRecord = Partial<Record<string, string>>;

interface RawNotice {
  id: string;
  key: string;
  seen: number;
  first: number;
  wakeKey?: string;
  wakeSeen?: number;
  tasks?: RawTask[];
  restarted?: boolean;
}
type RawTask = Omit<TaskNotice, 'toolUseId'> & { toolUseId?: string };
type RawAttempt = Omit<Attempt, 'outcome' | 'detail' | 'owner' | 'sentMs' | 'settledMs' | 'turnId' | 'cid'> &
  Partial<Attempt>;

/** Lua's cjson writes an empty list as `{}`. */
export function list<T>(value: T[] | Record<string, never> | undefined): T[] {
  return Array.isArray(value) ? value : [];
}

function json(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

const fileOf = (sessionId: string): string => `${sessionId}.jsonl`;

/**
 * A transcript's path as the record holds it: without the file's name where that is the session's own, as Claude Code names
 * it. Redis keeps a hash compact (a third of the memory) only while none of its values is longer than 64 bytes.
 */
export function storedPath(sessionId: string, path: string): string {
  const name = fileOf(sessionId);
  return path.endsWith(`/${name}`) ? path.slice(0, -name.length) : path;
}

/** The whole path again. A file's path never ends with a slash. */
export function readPath<T extends string | undefined>(sessionId: string, stored: T): T | string {
  return stored?.endsWith('/') === true ? `${stored}${fileOf(sessionId)}` : stored;
}

function number(text: string | undefined): number | undefined {
  return text === undefined || text === '' ? undefined : Number(text);
}

export function parseNotice(text: string | undefined): Notice | undefined {
  const raw = json(text) as RawNotice | undefined;
  if (raw === undefined) return undefined;
  return {
    id: raw.id,
    key: raw.key,
    seenMs: raw.seen,
    firstSeenMs: raw.first,
    wakeKey: raw.wakeKey,
    wakeSeenMs: raw.wakeSeen,
    tasks: list(raw.tasks).map((task) => ({ ...task, toolUseId: task.toolUseId })),
    restarted: raw.restarted === true,
  };
}

function parseAttempt(text: string | undefined): Attempt | undefined {
  const raw = json(text) as RawAttempt | undefined;
  if (raw === undefined) return undefined;
  return {
    ...raw,
    outcome: raw.outcome,
    detail: raw.detail,
    owner: raw.owner,
    sentMs: raw.sentMs,
    settledMs: raw.settledMs,
    turnId: raw.turnId,
    cid: raw.cid,
  };
}

/** @returns the record, or `undefined` where the hash is empty (no such session). */
export function parseRecord(sessionId: string, raw: RawRecord): SessionRecord | undefined {
  if (raw['v'] === undefined) return undefined;
  return {
    version: Number(raw['v']),
    sessionId,
    server: raw['srv'] ?? '',
    source: (raw['src'] ?? 'webhook') as SessionRecord['source'],
    project: raw['prj'] ?? '',
    path: readPath(sessionId, raw['path']),
    generation: number(raw['gen']) ?? 0,
    state: (raw['st'] ?? 'idle') as SessionState,
    stateReason: raw['rs'] as StateReason | undefined,
    armed: raw['arm'] === '1',
    auto: raw['auto'] === '1',
    autoReason: raw['ar'] as SessionRecord['autoReason'],
    armedMs: number(raw['at']),
    updatedMs: number(raw['up']) ?? 0,
    lastEventMs: number(raw['ev']) ?? 0,
    lastEventType: raw['lt'] as SessionRecord['lastEventType'],
    released: raw['rel'] === '1',
    turnEndedEventMs: number(raw['et']),
    running: raw['run'] === '1',
    otherStartsEventMs: list(json(raw['os']) as number[] | undefined),
    notice: parseNotice(raw['nt']),
    tries: number(raw['tries']),
    refusals: number(raw['ref']) ?? 0,
    manuals: number(raw['man']) ?? 0,
    humanAtNudge: raw['han'],
    userStopped: raw['us'] === '1',
    stoppedTaskIds: list(json(raw['stop']) as string[] | undefined),
    answeredTaskIds: list(json(raw['ans']) as string[] | undefined),
    attempt: parseAttempt(raw['att']),
    backgroundTasks: number(raw['bg']) ?? 0,
  };
}
