/**
 * The judge's own reading of a transcript, by itself and not with the product's detector: just enough for the shapes that
 * a chaos run writes.
 */
export type Told =
  | { what: 'killed' | 'ended'; taskId: string }
  /** The runtime took a notice as its prompt: a wake. */
  | { what: 'wake' }
  | { what: 'human' | 'nudge' | 'interrupted' | 'reply' };

/** One entry of which something is told; `end`: offset of the first byte after it. */
export type StoryEntry = Told & { end: number; atMs: number };

interface Line {
  type?: string;
  operation?: string;
  content?: unknown;
  timestamp?: string;
  origin?: { kind?: string };
  message?: { content?: unknown; stop_reason?: string };
}

export const NUDGE_LABEL = '[Paddock recovery]';

export function readStory(text: string): StoryEntry[] {
  const story: StoryEntry[] = [];
  let end = 0;
  for (const raw of text.split('\n').slice(0, -1)) {
    end += Buffer.byteLength(raw) + 1;
    const line = JSON.parse(raw) as Line;
    const told = tell(line);
    if (told !== undefined) story.push({ ...told, end, atMs: Date.parse(line.timestamp ?? '') });
  }
  return story;
}

function tell(line: Line): Told | undefined {
  if (line.type === 'queue-operation') return line.operation === 'enqueue' ? noticeIn(line.content) : undefined;
  const content = line.message?.content;
  if (line.type === 'assistant') return line.message?.stop_reason === 'end_turn' ? { what: 'reply' } : undefined;
  if (line.type !== 'user') return undefined;
  if (typeof content !== 'string') {
    return JSON.stringify(content).includes('[Request interrupted by user') ? { what: 'interrupted' } : undefined;
  }
  if (line.origin?.kind === 'human') return { what: 'human' };
  if (content.startsWith(NUDGE_LABEL)) return { what: 'nudge' };
  return line.origin?.kind === 'task-notification' ? { what: 'wake' } : undefined;
}

function noticeIn(content: unknown): Told | undefined {
  if (typeof content !== 'string') return undefined;
  const notice = /^<task-notification>[^]*<task-id>(.*)<\/task-id>[^]*<status>(.*)<\/status>/.exec(content);
  if (notice === null) return undefined;
  return { what: notice[2] === 'killed' ? 'killed' : 'ended', taskId: notice[1] ?? '' };
}
