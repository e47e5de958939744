import { mkdir, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { sessionApiDocumentText } from '#shared/session-api/openapi.js';

/** Writes docs/openapi/session-api.json anew; a test holds the file to the schemas. */
const folder = new URL('../docs/openapi/', import.meta.url);
await mkdir(folder, { recursive: true });
const file = new URL('session-api.json', folder);
await writeFile(file, sessionApiDocumentText());
console.log(`wrote ${fileURLToPath(file)}`);
