import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi';
import { z } from 'zod';
import {
  acceptedSchema,
  conflictSchema,
  IDEMPOTENCY_HEADER,
  idempotencyKeySchema,
  messageRequestSchema,
  refusalSchema,
  sessionStatusSchema,
} from './contract.ts';

/** The OpenAPI 3.1 document of the session API, made from the schemas that client and example server use. */
export function sessionApiDocument(): Record<string, unknown> {
  const registry = new OpenAPIRegistry();
  const bearer = registry.registerComponent('securitySchemes', 'bearer', { type: 'http', scheme: 'bearer' });
  const security = [{ [bearer.name]: [] }];
  registry.registerPath({ ...stateCall, security });
  registry.registerPath({ ...messageCall, security });
  registry.registerPath({ ...transcriptCall, security });
  const document = new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Session API',
      version: '1.0.0',
      description:
        'What a chat server offers so that its hung chats can be brought back: the state of a session, one idempotent ' +
        'message into an idle session, and optionally the transcript. How to build it: docs/session-api.md.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'Any base address; a path before /sessions is fine.' }],
  });
  return { ...document };
}

/** The document as the file holds it. */
export const sessionApiDocumentText = (): string => `${JSON.stringify(sessionApiDocument(), null, 2)}\n`;

const json = <T extends z.ZodType>(description: string, schema: T) => ({
  description,
  content: { 'application/json': { schema } },
});

/** As `sessionParamsSchema`, whose pattern ignores case: JSON Schema has no flag for that, so the format says it. */
const params = z.object({
  id: z.string().meta({
    format: 'uuid',
    description: 'Claude Code’s session id.',
    example: '7c0a4b1e-52c5-4f0e-9a3c-0f6f1f0c2d11',
  }),
});

const refusals = {
  400: json('The request is not the contract’s: shown as failed, not repeated at once.', refusalSchema),
  401: json('The token is missing or wrong.', refusalSchema),
  403: json('The token may not do this.', refusalSchema),
  429: {
    ...json('Later, please. Repeated with the same key.', refusalSchema),
    headers: z.object({
      'Retry-After': z
        .string()
        .optional()
        .meta({ description: 'Seconds or an HTTP date; honoured up to ten minutes.' }),
    }),
  },
  503: json('The server’s trouble, as is any 5xx. Repeated with the same key.', refusalSchema),
};
const gone = {
  404: json('The server does not know this session: its watch ends.', refusalSchema),
  410: json('The session existed and is over: its watch ends.', refusalSchema),
};

const stateCall = {
  method: 'get',
  path: '/sessions/{id}',
  operationId: 'getSession',
  summary: 'State of a session, as the chat server sees it now',
  request: { params },
  responses: { 200: json('The session’s state.', sessionStatusSchema), ...gone, ...refusals },
} as const;

const messageCall = {
  method: 'post',
  path: '/sessions/{id}/messages',
  operationId: 'sendMessage',
  summary: 'Starts one turn in an idle session',
  description:
    'The key is looked up before any busy check. Only a 202 is remembered, for at least 24 hours and across restarts: the ' +
    'same key again gives the same answer and starts no second turn. A 409 is definite; the next attempt has a new key.',
  request: {
    params,
    headers: z.object({ [IDEMPOTENCY_HEADER]: idempotencyKeySchema }),
    body: { required: true, content: { 'application/json': { schema: messageRequestSchema } } },
  },
  responses: {
    202: json('The turn is begun, or was begun by an earlier call with this key.', acceptedSchema),
    409: json('Busy: nothing was begun.', conflictSchema),
    ...gone,
    ...refusals,
  },
} as const;

const bytes = { 'application/x-ndjson': { schema: z.string().meta({ format: 'binary' }) } };
const transcriptCall = {
  method: 'get',
  path: '/sessions/{id}/transcript',
  operationId: 'getTranscript',
  summary: 'The transcript’s bytes (optional)',
  description: 'For a worker that does not have the file. One range is enough: `bytes=a-b`, `bytes=a-` or `bytes=-n`.',
  request: {
    params,
    headers: z.object({ Range: z.string().optional().meta({ example: 'bytes=-65536' }) }),
  },
  responses: {
    200: { description: 'The whole file.', content: bytes },
    206: { description: 'The range, with `Content-Range`.', content: bytes },
    416: { description: 'The range lies outside of the file; `Content-Range: bytes */size`.' },
    ...gone,
    401: refusals[401],
    403: refusals[403],
  },
} as const;
