import { basename } from 'node:path';
import type { ScannedChat } from '../scan.ts';
import { GROUPS, type Group } from './classify.ts';
import { type Paint, age, printable } from './paint.ts';

const GROUP_STYLES = { hung: 'red', error: 'yellow', dead: 'yellow', waiting: 'cyan', healthy: 'green' } as const;

/** The chats under the heading of their group, newest first as they come. */
export const tableOf = (
  chats: readonly ScannedChat[],
  options: { nowMs: number; looked: number; paint: Paint },
): string => {
  const parts = (Object.keys(GROUPS) as Group[]).flatMap((group) => {
    const rows = chats.filter((chat) => chat.group === group);
    return rows.length === 0 ? [] : [groupOf(group, rows, options)];
  });
  const summary = options.paint('dim', `${options.looked} chats looked at, ${chats.length} listed.`);
  return [...parts, summary].join('\n\n');
};

const groupOf = (
  group: Group,
  rows: readonly ScannedChat[],
  { nowMs, paint }: { nowMs: number; paint: Paint },
): string => {
  const heading = `${paint(GROUP_STYLES[group], GROUPS[group])} (${rows.length})`;
  const width = Math.min(36, Math.max(...rows.map(({ project }) => project.length)));
  return [heading, ...rows.map((row) => rowOf(row, nowMs, width, paint))].join('\n');
};

const rowOf = (row: ScannedChat, nowMs: number, width: number, paint: Paint): string => {
  const when = age(nowMs - row.lastMs).padStart(11);
  const project = printable(row.project, width).padEnd(width);
  return `${when}  ${project}  ${printable(basename(row.file), 48)}  ${paint('dim', printable(row.why))}`;
};
