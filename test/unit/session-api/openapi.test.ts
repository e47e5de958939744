import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { CONFLICT_CODES, SESSION_API_STATES } from '#shared/session-api/contract.js';
import { sessionApiDocument, sessionApiDocumentText } from '#shared/session-api/openapi.js';

const FILE = new URL('../../../docs/openapi/session-api.json', import.meta.url);

test('docs/openapi/session-api.json is what the schemas say (repair: npm run generate)', async () => {
  expect(await readFile(FILE, 'utf8')).toBe(sessionApiDocumentText());
});

test('the document names every call, every state and every conflict', () => {
  const document = sessionApiDocument();
  expect(document).toMatchObject({
    openapi: '3.1.0',
    paths: {
      '/sessions/{id}': { get: { responses: { 200: {}, 404: {}, 410: {}, 429: {} } } },
      '/sessions/{id}/messages': { post: { responses: { 202: {}, 409: {}, 404: {}, 410: {}, 401: {}, 403: {} } } },
      '/sessions/{id}/transcript': { get: { responses: { 200: {}, 206: {}, 416: {} } } },
    },
    components: {
      schemas: {
        SessionStatus: {
          required: ['state', 'queuedFollowUp'],
          properties: { state: { enum: [...SESSION_API_STATES] } },
        },
        Conflict: { properties: { code: { enum: [...CONFLICT_CODES] } } },
      },
    },
  });
});
