import type { Happening, TrailLine } from './chats.ts';
import type { Voice } from './say.ts';

/** A line of the story; nothing for what only repeats another one. */
export type Line = { voice: Voice; text: string } | undefined;

const TURN_STARTS: Record<string, string> = {
  human: 'a person asks; a turn starts',
  recovery: 'the nudge starts a turn',
  wake: 'the finished task wakes the chat; a turn starts',
};

const said = (text: string): Line => ({ voice: 'chat', text });

/** What happened in the chat, in words. */
export function chatLine({ kind, fields }: Happening): Line {
  switch (kind) {
    case 'turn.started':
      return said(TURN_STARTS[String(fields['cause'])] ?? 'a turn starts');
    case 'reply':
      return said(`the chat says: “${short(String(fields['text']))}”`);
    case 'turn.ended':
      return said(`the turn ended (${String(fields['outcome'])})${background(fields)}`);
    case 'task.killed':
      return { voice: 'bad', text: 'the runtime killed the background task; nothing wakes the chat' };
    case 'task.completed':
      return { voice: 'good', text: 'the background task completed' };
    default:
      return undefined;
  }
}

function background(fields: Record<string, unknown>): string {
  const tasks = fields['backgroundTasks'];
  return Array.isArray(tasks) && tasks.length > 0 ? '; its background task still runs' : '';
}

/** What watcher and worker decided, in words. The chat's own lines already tell what it knows better. */
export function trailLine({ kind, reason, reasonText }: TrailLine, debounceMs: number): Line {
  const why = reasonText ?? reason;
  switch (kind) {
    case 'turn-ended':
      return { voice: 'watcher', text: `watcher: ${lower(why ?? 'the turn end is recorded')}` };
    case 'killed-task':
      return {
        voice: 'watcher',
        text: `watcher: notice – a task was killed; it must stand un-answered for ${debounceMs} ms (debounce)`,
      };
    case 'claimed':
      return { voice: 'worker', text: 'worker: transcript and chat server agree that it hangs; the nudge is claimed' };
    case 'nudged':
      return { voice: 'worker', text: 'worker: the chat server took the nudge' };
    case 'recovered':
      return { voice: 'good', text: 'worker: a reply followed – recovered' };
    case 'sending':
    case 'turn-started':
    case 'human-message':
    case 'cleared':
      return undefined;
    default:
      return { voice: 'worker', text: `worker: ${kind}${why === undefined ? '' : ` – ${lower(why)}`}` };
  }
}

function lower(sentence: string): string {
  return sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, '');
}

function short(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length > 80 ? `${line.slice(0, 79)}…` : line;
}
