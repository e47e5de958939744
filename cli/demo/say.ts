/** The colours of who is speaking. */
const COLOURS = { chat: 36, watcher: 33, worker: 35, good: 32, bad: 31, quiet: 90 } as const;
export type Voice = keyof typeof COLOURS;

/** Writes the story: one line, with the time since the demo began. */
export interface Teller {
  /** A line about a chat: `  1.2 s  hung      the turn ended`. */
  tell(who: string, voice: Voice, text: string): void;
  /** A line about the demo itself. */
  note(text: string, voice?: Voice): void;
}

/** Colours only on a terminal. */
export function createTeller(write: (line: string) => void, colours: boolean): Teller {
  const startedAt = performance.now();
  const paint = (voice: Voice, text: string): string => (colours ? `\u001B[${COLOURS[voice]}m${text}\u001B[0m` : text);
  return {
    tell(who, voice, text) {
      const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1).padStart(5);
      write(`${paint('quiet', `${seconds} s`)}  ${who.padEnd(8)}  ${paint(voice, text)}`);
    },
    note: (text, voice = 'quiet') => write(paint(voice, text)),
  };
}
