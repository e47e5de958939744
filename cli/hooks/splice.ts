import { isDeepStrictEqual } from 'node:util';
import type { JsonMap } from './entries.ts';

/**
 * The text of a JSON object with its `hooks` member made that of `settings`, and every other byte as it was: people keep their
 * settings in their own way, and in version control. Where the text cannot be cut so, all of it is written anew. Pure.
 */
export function spliceHooks(text: string, settings: JsonMap): string {
  const indent = /^\s*\{\s*?\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';
  const members = membersOf(text);
  const hooks = settings['hooks'];
  const value = hooks === undefined ? undefined : JSON.stringify(hooks, null, indent).replaceAll('\n', `\n${indent}`);
  const spliced = members === undefined ? undefined : splice(text, members, value, indent);
  if (spliced !== undefined && isDeepStrictEqual(parse(spliced), settings)) return spliced;
  return `${JSON.stringify(settings, null, indent)}\n`;
}

interface Member {
  key: string;
  /** Where its key begins, its value begins, and its value ends. */
  at: number;
  valueAt: number;
  end: number;
}

function splice(text: string, members: Member[], value: string | undefined, indent: string): string | undefined {
  const index = members.findIndex(({ key }) => key === 'hooks');
  const member = members[index];
  if (member !== undefined && value !== undefined) {
    return text.slice(0, member.valueAt) + value + text.slice(member.end);
  }
  if (member !== undefined) {
    const [before, after] = [members[index - 1], members[index + 1]];
    if (before !== undefined) return text.slice(0, before.end) + text.slice(member.end);
    return after === undefined ? undefined : text.slice(0, member.at) + text.slice(after.at);
  }
  const last = members.at(-1);
  if (value === undefined || last === undefined) return undefined;
  return `${text.slice(0, last.end)},\n${indent}"hooks": ${value}${text.slice(last.end)}`;
}

/** The members of the outermost object of a text that is JSON. */
function membersOf(text: string): Member[] | undefined {
  const members: Member[] = [];
  let at = text.indexOf('{') + 1;
  for (;;) {
    const keyAt = skip(text, at, /[\s,]/);
    if (text[keyAt] !== '"') return text[keyAt] === '}' ? members : undefined;
    const keyEnd = stringEnd(text, keyAt);
    const valueAt = skip(text, keyEnd, /[\s:]/);
    const end = valueEnd(text, valueAt);
    members.push({ key: String(parse(text.slice(keyAt, keyEnd))), at: keyAt, valueAt, end });
    at = end;
  }
}

function valueEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  while (at < text.length) {
    const char = text[at] ?? '';
    if (char === '"') at = stringEnd(text, at);
    else if (depth === 0 && (char === '}' || /[\s,]/.test(char))) return at;
    else {
      if (char === '{' || char === '[') depth += 1;
      if (char === '}' || char === ']') depth -= 1;
      at += 1;
    }
    if (depth === 0 && /["}\]]/.test(char)) return at;
  }
  return at;
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at + 1;
}

function skip(text: string, start: number, what: RegExp): number {
  let at = start;
  while (at < text.length && what.test(text[at] ?? '')) at += 1;
  return at;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
