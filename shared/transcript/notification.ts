/** One `<task-notification>` block of a payload, its children trimmed. */
export interface Notification {
  /** The runtime's task id; `undefined` where the block names none. */
  taskId: string | undefined;
  toolUseId: string | undefined;
  /** In lower case; `undefined` for an event without a status (Monitor). */
  status: string | undefined;
  summary: string;
}

/** Statuses with which the runtime reports that it ended a task itself (SPEC §5). */
export const TERMINATED: ReadonlySet<string> = new Set(['killed', 'stopped']);

export const isTerminated = (notification: Notification): boolean =>
  notification.status !== undefined && TERMINATED.has(notification.status);

/** Bounds of what is looked at: a payload is outside text, and one of megabytes or of a million brackets must cost nothing. */
const MAX_PAYLOAD = 256 * 1_024;
const MAX_UNCLOSED = 64;

const OPEN_BLOCK = /<task-notification(?:\s[^<>]*)?>/gi;
const CLOSE_BLOCK = /^<\/task-notification\s*>/i;
const TAG = /^<([a-z][\w-]*)(?:\s[^<>]*)?>/i;

/**
 * Every block of a payload, in order. Children are found by name, any case, in any order; of two with one name the
 * first counts. What stands inside a child is text, even where it looks like another child: a task's own description
 * must not be able to say that it was killed.
 */
export const parseNotifications = (text: string): Notification[] => {
  const payload = text.slice(0, MAX_PAYLOAD);
  const found: Notification[] = [];
  OPEN_BLOCK.lastIndex = 0;
  for (let open = OPEN_BLOCK.exec(payload); open !== null; open = OPEN_BLOCK.exec(payload)) {
    const { children, end } = childrenFrom(payload, OPEN_BLOCK.lastIndex);
    found.push({
      taskId: children.get('task-id') || undefined,
      toolUseId: children.get('tool-use-id') || undefined,
      status: children.get('status')?.toLowerCase(),
      summary: children.get('summary') ?? '',
    });
    OPEN_BLOCK.lastIndex = end;
  }
  return found;
};

/** The children of a block whose content begins at `start`, and where the block ends. */
const childrenFrom = (payload: string, start: number): { children: Map<string, string>; end: number } => {
  const children = new Map<string, string>();
  let at = start;
  let unclosed = 0;
  for (;;) {
    at = payload.indexOf('<', at);
    if (at === -1 || unclosed > MAX_UNCLOSED) return { children, end: payload.length };
    const rest = payload.slice(at, at + 200);
    const close = CLOSE_BLOCK.exec(rest);
    if (close !== null) return { children, end: at + close[0].length };
    const tag = TAG.exec(rest);
    if (tag?.[1] === undefined) {
      at += 1;
      continue;
    }
    const name = tag[1].toLowerCase();
    // A block that was cut off and another one behind it: leave that one to the caller.
    if (name === 'task-notification') return { children, end: at };
    const from = at + tag[0].length;
    at = takeChild(payload, name, from, children);
    if (at === from) unclosed += 1;
  }
};

/** Notes the child whose content begins at `from`; returns where to go on. An unclosed child has no content. */
const takeChild = (payload: string, name: string, from: number, children: Map<string, string>): number => {
  const end = closingTag(payload, name, from);
  if (end === undefined) return from;
  if (!children.has(name)) children.set(name, payload.slice(from, end.start).trim());
  return end.after;
};

/** Where a child ends. Nearly always its closing tag is written as the opening one, which is the quick way. */
const closingTag = (payload: string, name: string, from: number): { start: number; after: number } | undefined => {
  const exact = `</${name}>`;
  const start = payload.indexOf(exact, from);
  if (start !== -1) return { start, after: start + exact.length };
  const pattern = new RegExp(`</${name}\\s*>`, 'gi');
  pattern.lastIndex = from;
  const match = pattern.exec(payload);
  return match === null ? undefined : { start: match.index, after: pattern.lastIndex };
};
