/** One thing that must hold for the demo to have shown what it is to show. */
export interface Check {
  what: string;
  ok: boolean;
  /** What was found instead. */
  found: string;
}

export interface Judged {
  /** Transcript text of the chat that hangs, as it stands on disk. */
  hung: string;
  /** Transcript text of the healthy chat. */
  healthy: string;
  /** Sender label of a nudge, without brackets. */
  label: string;
}

/** What the runtime writes above a message that no person wrote. */
const NON_USER_LINE = '[MESSAGE FROM NON-USER SOURCE - NOT USER INPUT]';

/**
 * Judges the demo by the chats' transcripts alone. It reads them on its own, apart from the detector and from what the
 * services say about themselves: it must be able to find both wrong.
 */
export function judge({ hung, healthy, label }: Judged): Check[] {
  const events = readEvents(hung, label);
  const kill = events.indexOf('kill');
  const nudge = events.indexOf('nudge');
  const reply = nudge === -1 ? -1 : events.indexOf('reply', nudge);
  const healthyEvents = readEvents(healthy, label);
  const completed = healthyEvents.indexOf('completed');
  return [
    check('The hung chat’s task was killed after its turn.', kill !== -1, 'no notice of a kill'),
    check('It was nudged exactly once.', count(events, 'nudge') === 1, `${count(events, 'nudge')} nudges`),
    check('The nudge came after the kill.', kill !== -1 && nudge > kill, nudge === -1 ? 'no nudge' : 'it came before'),
    check('The chat answered the nudge.', reply !== -1, 'no reply after a nudge'),
    check(
      'The healthy chat’s task completed and woke it.',
      completed !== -1 && healthyEvents.includes('reply', completed),
      completed === -1 ? 'no completion' : 'no reply after the completion',
    ),
    check(
      'The healthy chat was left alone.',
      count(healthyEvents, 'nudge') === 0,
      `${count(healthyEvents, 'nudge')} nudges`,
    ),
  ];
}

/** True once both chats have come to the end of their story, well or not: nothing more is to be waited for. */
export function isOver(judged: Judged): boolean {
  return judge(judged).every(({ ok }) => ok);
}

/** True once something has happened that no waiting can mend: a nudge too many. */
export function hopeless({ hung, healthy, label }: Judged): boolean {
  return count(readEvents(hung, label), 'nudge') > 1 || count(readEvents(healthy, label), 'nudge') > 0;
}

type Event = 'kill' | 'completed' | 'nudge' | 'reply';

function readEvents(transcript: string, label: string): Event[] {
  return transcript.split('\n').flatMap((line) => {
    const entry = parse(line);
    const event = entry === undefined ? undefined : eventOf(entry, label);
    return event === undefined ? [] : [event];
  });
}

function eventOf(entry: Record<string, unknown>, label: string): Event | undefined {
  if (entry['isSidechain'] === true) return undefined;
  if (entry['type'] === 'queue-operation' && entry['operation'] === 'enqueue') return notification(entry['content']);
  const message = isRecord(entry['message']) ? entry['message'] : {};
  if (entry['type'] === 'user') {
    const text = textOf(message['content']).trimStart();
    const said = text.startsWith(NON_USER_LINE) ? text.slice(NON_USER_LINE.length).trimStart() : text;
    return said.startsWith(`[${label}]`) ? 'nudge' : undefined;
  }
  const real = message['model'] !== '<synthetic>' && entry['isApiErrorMessage'] !== true;
  return entry['type'] === 'assistant' && real && textOf(message['content']) !== '' ? 'reply' : undefined;
}

function notification(content: unknown): Event | undefined {
  if (typeof content !== 'string' || !content.trimStart().startsWith('<task-notification>')) return undefined;
  const status = /<status>\s*(\w+)\s*<\/status>/.exec(content)?.[1];
  if (status === 'killed' || status === 'stopped') return 'kill';
  return status === 'completed' ? 'completed' : undefined;
}

/** Text of a message, whose content is a string or a list of blocks. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((block: unknown) => (isRecord(block) && block['type'] === 'text' ? String(block['text']) : ''))
    .join('');
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // a line that is being written
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function check(what: string, ok: boolean, found: string): Check {
  return { what, ok, found };
}

function count(events: readonly Event[], wanted: Event): number {
  return events.filter((event) => event === wanted).length;
}
