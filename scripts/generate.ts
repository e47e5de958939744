import { readFileSync, writeFileSync } from 'node:fs';
import { renderEnvExample, renderReadmeTable, renderSettingsTables, withGenerated } from './render-settings.ts';

/** Files that come from the schema of settings, wholly or in part. `npm run generate` writes them; a test holds them to it. */
const FILES: Readonly<Record<string, (current: () => string) => string>> = {
  '.env.example': renderEnvExample,
  'README.md': (current) => withGenerated(current(), renderReadmeTable()),
  'docs/settings.md': (current) => withGenerated(current(), renderSettingsTables()),
};

for (const [file, render] of Object.entries(FILES)) {
  const path = new URL(`../${file}`, import.meta.url);
  const text = render(() => readFileSync(path, 'utf8'));
  writeFileSync(path, text);
  console.log(`${file} written`);
}
