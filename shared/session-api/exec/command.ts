/**
 * A command as the settings write it: a list of arguments with placeholders, never a line for a shell. Pure.
 */
export const PLACEHOLDERS = ['sessionId', 'nudge', 'nudgeLine', 'cwd', 'transcriptPath', 'project'] as const;
export type Placeholder = (typeof PLACEHOLDERS)[number];

/** What stands for a placeholder; one whose value is not known makes the whole command impossible. */
export type Values = Partial<Record<Placeholder, string | undefined>>;

const PATTERN = /\{([A-Za-z]\w*)\}/g;

/** Names in braces that mean nothing: most likely slips of the pen. */
export function unknownPlaceholders(command: readonly string[]): string[] {
  const names = command.flatMap((argument) => [...argument.matchAll(PATTERN)].map(([, name = '']) => name));
  return [...new Set(names.filter((name) => !isPlaceholder(name)))];
}

/**
 * The arguments with every placeholder replaced, in one pass: braces in a nudge's own text stay text. `missing` names the
 * placeholders for which there is no value.
 */
export function expand(command: readonly string[], values: Values): { args: string[]; missing: Placeholder[] } {
  const missing = new Set<Placeholder>();
  const args = command.map((argument) =>
    argument.replaceAll(PATTERN, (whole, name: string) => {
      if (!isPlaceholder(name)) return whole;
      const value = values[name];
      if (value === undefined) missing.add(name);
      // An argument cannot hold NUL.
      return (value ?? '').replaceAll('\0', '');
    }),
  );
  return { args, missing: [...missing] };
}

/** The nudge as one line, for a program that takes a line end as "send". */
export const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

function isPlaceholder(name: string): name is Placeholder {
  return PLACEHOLDERS.some((known) => known === name);
}
