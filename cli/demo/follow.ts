import { watcherSession, type ChatServerCalls, type DemoChat, type Happening } from './chats.ts';
import type { Teller } from './say.ts';
import { chatLine, trailLine, type Line } from './story.ts';

export interface FollowParts {
  calls: ChatServerCalls;
  watcherUrl: string;
  teller: Teller;
}

/** Tells what is new about one chat each time it is called: first what the chat did, then what was decided about it. */
export function follow(
  chat: DemoChat,
  { calls, watcherUrl, teller }: FollowParts,
  onNews: (happening: Happening) => void = () => undefined,
): () => Promise<void> {
  let told = 0;
  let decided = 0;
  const say = (line: Line): void => {
    if (line !== undefined) teller.tell(chat.who, line.voice, line.text);
  };
  return async () => {
    const happenings = await calls.happenings(chat);
    for (const happening of happenings.slice(told)) {
      say(chatLine(happening));
      onNews(happening);
    }
    told = happenings.length;
    const session = await watcherSession(watcherUrl, chat.sessionId);
    if (session === undefined) return;
    for (const line of session.trail.slice(decided)) say(trailLine(line, session.debounceMs));
    decided = session.trail.length;
  };
}
