import { readFileSync } from 'node:fs';
import type { NudgeFacts } from './parts.ts';

const TASK_LENGTH = 160;
const TASKS_NAMED = 5;

/**
 * The text that recovery sends. It begins with the label by which a nudge is known in a transcript, says that it is
 * automatic, what was ended and by whom, which try this is, that the work may be done or still running, and what to do.
 */
export const DEFAULT_TEMPLATE = [
  'This message was written by a program, not by a person.',
  'The runtime ended background work of this chat after its turn was over: {tasks}.',
  'Nobody cancelled it, and nothing else will wake this chat.',
  '{attempt}',
  'That work may already be complete, or its process may still be running: check before repeating any of it.',
  'Then do what is left in the foreground within this turn, or sum up where things stand.',
].join(' ');

const PLACEHOLDERS = /\{(tasks|attempt|try|maxRetries|label)\}/g;

/** Makes the nudge's writer from a template of one's own, or from ours. Throws where the file cannot be read. */
export function nudgeWriter(templateFile: string | undefined): (facts: NudgeFacts) => string {
  const template = templateFile === undefined ? DEFAULT_TEMPLATE : readFileSync(templateFile, 'utf8').trim();
  return (facts) => renderNudge(template, facts);
}

/** Fills the template in. One pass: text of a task that looks like a placeholder stays text. */
export function renderNudge(template: string, facts: NudgeFacts): string {
  const values: Record<string, string> = {
    tasks: describeTasks(facts.tasks),
    attempt: describeAttempt(facts),
    try: String(facts.try),
    maxRetries: String(facts.maxRetries),
    label: facts.label,
  };
  const body = template.replaceAll(PLACEHOLDERS, (whole, name: string) => values[name] ?? whole);
  return `[${facts.label}] ${body}`;
}

function describeTasks(tasks: NudgeFacts['tasks']): string {
  const named = tasks.slice(0, TASKS_NAMED).map(({ id, summary }) => `task ${quote(id)} (${quote(summary)})`);
  const more = tasks.length - named.length;
  return named.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function describeAttempt({ kind, try: attempt, maxRetries }: NudgeFacts): string {
  if (kind === 'manual') return 'A person asked for this with the Continue button.';
  return `This is automatic try ${attempt} of ${maxRetries}.`;
}

/** Outside text becomes one quoted, cut line that can close no tag and open none. */
function quote(text: string): string {
  const line = text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .replaceAll('<', '‹')
    .replaceAll('>', '›')
    .replaceAll('"', '”')
    .trim();
  return `"${line.length > TASK_LENGTH ? `${line.slice(0, TASK_LENGTH - 1)}…` : line}"`;
}
