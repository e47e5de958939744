import { SETTINGS_CATALOGUE, type CatalogueEntry } from '#shared/settings/catalogue.js';
import { THEMES, type Theme } from '#shared/settings/setting.js';

/** Between these two lines a document is written by `npm run generate`. */
export const START_MARK = '<!-- settings:start -->';
export const END_MARK = '<!-- settings:end -->';

/** `.env.example`: every variable with its default, all commented out. */
export function renderEnvExample(): string {
  const head = [
    '# Every setting of chat-recovery with its default. Written by `npm run generate` from the schema in shared/settings.',
    '# Precedence, lowest to highest: default, YAML file (CHAT_RECOVERY_CONFIG), environment; for the recovery settings also',
    '# each project’s project.yaml. A blank variable counts as unset.',
  ];
  const themes = themed().map(([theme, entries]) => [`# ${THEMES[theme]}`, ...entries.map(envLines)].join('\n\n'));
  return `${[head.join('\n'), ...themes].join('\n\n')}\n`;
}

/** One table of all settings, for the README. */
export function renderReadmeTable(): string {
  const rows = SETTINGS_CATALOGUE.map((entry) => [`\`${entry.variable}\``, entry.defaultText, entry.doc]);
  return table(['Variable', 'Default', 'Meaning'], rows);
}

/** A table for each theme, with the keys of the YAML file, for `docs/settings.md`. */
export function renderSettingsTables(): string {
  const parts = themed().map(([theme, entries]) => {
    const rows = entries.map((entry) => [
      `\`${entry.key}\``,
      `\`${entry.variable}\``,
      entry.type.replaceAll('|', '\\|'),
      entry.defaultText,
      entry.doc,
    ]);
    return `### ${THEMES[theme]}\n\n${table(['Key in YAML', 'Variable', 'Type', 'Default', 'Meaning'], rows)}`;
  });
  return parts.join('\n\n');
}

/** `document` with everything between the two marks replaced. Throws where the marks are not there, once each and in order. */
export function withGenerated(document: string, generated: string): string {
  const [before, rest, ...more] = document.split(START_MARK);
  const [, after, ...evenMore] = rest?.split(END_MARK) ?? [];
  if (before === undefined || after === undefined || more.length + evenMore.length > 0) {
    throw new Error(`the document needs one ${START_MARK} and, after it, one ${END_MARK}`);
  }
  return `${before}${START_MARK}\n\n${generated}\n\n${END_MARK}${after}`;
}

function envLines(entry: CatalogueEntry): string {
  const fallback = entry.default === undefined ? ` Default: ${entry.defaultText.replaceAll('`', '')}.` : '';
  return `# ${entry.doc.replaceAll('`', '')}${fallback}\n# ${entry.variable}=${entry.default ?? ''}`;
}

function themed(): [Theme, CatalogueEntry[]][] {
  const groups = new Map<Theme, CatalogueEntry[]>();
  for (const entry of SETTINGS_CATALOGUE) groups.set(entry.theme, [...(groups.get(entry.theme) ?? []), entry]);
  return [...groups];
}

/** A Markdown table laid out as the formatter would. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}
