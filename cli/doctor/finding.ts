/** One thing that was looked at. */
export interface Finding {
  /** What it is about: `redis`, `session API of blue`. */
  part: string;
  /** `note`: worth knowing, nothing is wrong. `wrong`: recovery does not work as it should. `skipped`: could not be looked at. */
  state: 'ok' | 'note' | 'wrong' | 'skipped';
  /** One sentence: what was found. */
  what: string;
  /** What to do about it; there for everything that is wrong. */
  todo?: string;
}

export const ok = (part: string, what: string): Finding => ({ part, state: 'ok', what });
export const note = (part: string, what: string, todo?: string): Finding => ({
  part,
  state: 'note',
  what,
  ...(todo === undefined ? {} : { todo }),
});
export const wrong = (part: string, what: string, todo: string): Finding => ({ part, state: 'wrong', what, todo });
export const skipped = (part: string, what: string): Finding => ({ part, state: 'skipped', what });

/** Of an error, what a person can use. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.message}${cause}`.replaceAll(/\s+/g, ' ').trim();
}
