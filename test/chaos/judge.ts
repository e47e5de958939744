import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { judgeChat, type ChatVerdict, type Hang } from './judge-chat.ts';
import type { Recorded } from './journal.ts';
import { readStory } from './transcript-story.ts';

/** What a run came to, from the chat server's journal and the transcripts alone. */
export interface Judgement {
  seed: number;
  chats: number;
  /** Chats that hung: a notice stood for the debounce or longer and nothing but recovery would have moved them. */
  hung: number;
  nudgedOnce: number;
  nudgedTwice: string[];
  missed: string[];
  wrong: string[];
  lost: string[];
  /** A person's act and a call that crossed each other. */
  raced: string[];
  /** What the plays themselves did not manage; such a run proves nothing. */
  unplayed: string[];
}

/** Reads a run's folder: `journal.jsonl` and `transcripts/project/<session id>.jsonl`. */
export function judge(folder: string): Judgement {
  const lines = readFileSync(join(folder, 'journal.jsonl'), 'utf8').trimEnd().split('\n');
  const events = lines.map((line) => JSON.parse(line) as Recorded);
  return judgeEvents(events, (chat) => readFileSync(join(folder, 'transcripts', 'project', `${chat}.jsonl`), 'utf8'));
}

export function judgeEvents(events: readonly Recorded[], transcriptOf: (chat: string) => string): Judgement {
  const settings = events.find((event) => event.t === 'settings');
  if (settings === undefined) throw new Error('The journal names no settings.');
  const result: Judgement = {
    seed: settings.seed,
    chats: 0,
    hung: 0,
    nudgedOnce: 0,
    nudgedTwice: [],
    missed: [],
    wrong: [],
    lost: [],
    raced: [],
    unplayed: events.flatMap((event) => (event.t === 'play-failed' ? [`${event.chat}: ${event.why}`] : [])),
  };
  const byChat = groupByChat(events);
  for (const event of events) {
    if (event.t !== 'chat') continue;
    const { chat: id, kind, project } = event;
    const verdict = judgeChat({
      id,
      kind,
      cap: settings.caps[project],
      debounceMs: settings.debounceMs,
      events: byChat.get(id) ?? [],
      story: readStory(transcriptOf(id)),
    });
    add(result, `${id} (${kind}, cap ${settings.caps[project]})`, verdict, settings.debounceMs);
  }
  return result;
}

function groupByChat(events: readonly Recorded[]): Map<string, Recorded[]> {
  const groups = new Map<string, Recorded[]>();
  for (const event of events) {
    if (!('chat' in event)) continue;
    const group = groups.get(event.chat);
    if (group === undefined) groups.set(event.chat, [event]);
    else group.push(event);
  }
  return groups;
}

function add(result: Judgement, chat: string, { hangs, nudges, missed, lost }: ChatVerdict, debounceMs: number): void {
  result.chats += 1;
  if (hangs.some((hang) => isHung(hang, debounceMs))) result.hung += 1;
  result.nudgedOnce += hangs.filter((hang) => hang.nudges.length === 1).length;
  for (const hang of hangs) {
    if (hang.nudges.length > 1) result.nudgedTwice.push(`${chat}: ${hang.nudges.length} nudges for one hang`);
  }
  for (const hang of missed) result.missed.push(`${chat}: the hang of ${[...hang.tasks].join(', ')}`);
  for (const nudge of nudges) {
    const at = `${chat}: nudge ${nudge.started.key.slice(0, 8)} at event ${nudge.started.seq}`;
    if (nudge.wrong !== undefined) result.wrong.push(`${at}: ${nudge.wrong}`);
    if (nudge.raced) result.raced.push(at);
  }
  for (const why of lost) result.lost.push(`${chat}: ${why}`);
}

function isHung({ answered, newestMs, interrupted }: Hang, debounceMs: number): boolean {
  if (interrupted || answered?.by === 'wake') return false;
  return answered === undefined || answered.atMs - newestMs >= debounceMs;
}
