const LEVELS: Record<number, string> = { 10: 'trace', 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'fatal' };
const HIDDEN = new Set(['level', 'time', 'pid', 'hostname', 'name', 'msg', 'component']);
const NAME_WIDTH = 9;

/** A line of a child's log as `npm start` shows it: as it is behind the child's name, or (`pretty`) easy to read. */
export function renderLine(name: string, line: string, pretty: boolean): string {
  const prefix = `${name.padEnd(NAME_WIDTH)} | `;
  const entry = pretty ? parseEntry(line) : undefined;
  if (entry === undefined) return prefix + line;
  const level = LEVELS[Number(entry['level'])] ?? 'info';
  const time = new Date(Number(entry['time'])).toISOString().slice(11, 23);
  const fields = Object.entries(entry)
    .filter(([key]) => !HIDDEN.has(key))
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : shown(value)}`);
  return `${prefix}${time} ${level.padEnd(5)} ${[typeof entry['msg'] === 'string' ? entry['msg'] : '', ...fields].join(' ')}`;
}

/** An error is shown by its message; its stack is for machines. */
function shown(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'message' in value) return String(value.message);
  return JSON.stringify(value);
}

function parseEntry(line: string): Record<string, unknown> | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null && 'time' in value ? { ...value } : undefined;
  } catch {
    return undefined; // not a log entry: shown as it is
  }
}
