import { readdirSync, readFileSync } from 'node:fs';

const FOLDER = new URL('../../docs/hosts/', import.meta.url);

/** Names of the pages in docs/hosts. */
export const hostPages = (): string[] => readdirSync(FOLDER).filter((name) => name.endsWith('.md'));

/** The code blocks of one language on a page, without the indentation of the list that they stand in. */
export function codeBlocks(page: string, language: string): string[] {
  const text = readFileSync(new URL(page, FOLDER), 'utf8');
  const fence = new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\`$`, 'gm');
  return [...text.matchAll(fence)].map(([, indent = '', code = '']) =>
    code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}
