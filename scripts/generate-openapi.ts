import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { sessionApiDocumentText } from '#shared/session-api/openapi.js';
import { watcherOpenApiText } from '../services/watcher/openapi.ts';

/** Writes the documents in docs/openapi anew; tests hold the files to the schemas. */
const folder = new URL('../docs/openapi/', import.meta.url);
await mkdir(folder, { recursive: true });
for (const [name, text] of [
  ['session-api.json', sessionApiDocumentText()],
  ['watcher.json', watcherOpenApiText()],
] as const) {
  const file = new URL(name, folder);
  await writeFile(file, text);
  console.log(`wrote ${fileURLToPath(file)}`);
}
