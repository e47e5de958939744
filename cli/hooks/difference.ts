/** Lines around a change that are shown with it. */
const CONTEXT = 2;

/** What changes between two texts, line by line: `- ` goes, `+ ` comes, the lines around as they are. Pure. */
export function difference(before: string, after: string): string[] {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start += 1;
  let tail = 0;
  while (
    tail < Math.min(old.length, fresh.length) - start &&
    old[old.length - 1 - tail] === fresh[fresh.length - 1 - tail]
  ) {
    tail += 1;
  }
  const end = old.length - tail;
  return [
    ...old.slice(Math.max(0, start - CONTEXT), start).map((line) => `  ${line}`),
    ...old.slice(start, end).map((line) => `- ${line}`),
    ...fresh.slice(start, fresh.length - tail).map((line) => `+ ${line}`),
    ...old.slice(end, end + CONTEXT).map((line) => `  ${line}`),
  ];
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));
