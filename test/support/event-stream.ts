import { request, type IncomingMessage } from 'node:http';
import { eventually } from './events.ts';

/** One frame of an event stream. */
export interface StreamEvent {
  id: string | undefined;
  event: string;
  data: Record<string, unknown>;
}

export interface EventStream {
  status: number;
  headers: IncomingMessage['headers'];
  /** Every frame so far. */
  readonly events: readonly StreamEvent[];
  /** Comments so far (heartbeats). */
  readonly comments: readonly string[];
  /** Body of an answer that is no stream. */
  readonly text: () => string;
  readonly ended: boolean;
  lastId(): string | undefined;
  /** The first frame, had or yet to come, that fits. */
  event(fits: (event: StreamEvent) => boolean, what?: string): Promise<StreamEvent>;
  /** Stops and goes on taking bytes: a slow client. */
  pause(): void;
  resume(): void;
  close(): void;
}

/** Opens an event stream with a plain HTTP client, so that its speed is the test's. Resolves with the answer's head. */
export async function openStream(url: string, headers: Record<string, string> = {}): Promise<EventStream> {
  const events: StreamEvent[] = [];
  const comments: string[] = [];
  const state = { ended: false, rest: '' };
  const asked = request(url, { headers, agent: false });
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.once('response', resolve);
    asked.once('error', reject);
    asked.end();
  });
  response.setEncoding('utf8');
  response.on('data', (text: string) => {
    const frames = `${state.rest}${text}`.split('\n\n');
    state.rest = frames.pop() ?? '';
    for (const frame of frames) take(frame, events, comments);
  });
  response.on('close', () => {
    state.ended = true;
  });
  // A connection that is cut is an end like another.
  response.on('error', () => undefined);
  asked.on('error', () => undefined);
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    comments,
    text: () => state.rest,
    get ended() {
      return state.ended;
    },
    lastId: () => events.findLast(({ id }) => id !== undefined)?.id,
    event: (fits, what = 'an event') => eventually(() => events.find(fits), { what }),
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => asked.destroy(),
  };
}

function take(frame: string, events: StreamEvent[], comments: string[]): void {
  const fields = new Map<string, string>();
  for (const line of frame.split('\n')) {
    if (line.startsWith(':')) comments.push(line.slice(1).trim());
    else fields.set(line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim());
  }
  const data = fields.get('data');
  if (data === undefined) return;
  const parsed = JSON.parse(data) as Record<string, unknown>;
  events.push({ id: fields.get('id'), event: fields.get('event') ?? 'message', data: parsed });
}
