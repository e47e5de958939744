import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { ReplyBlock } from './fake-messages-reply.ts';

/** A reply with its ids, as both forms of the wire need it. */
export interface Reply {
  id: string;
  model: string;
  blocks: (ReplyBlock & { id?: string })[];
  stopReason: 'tool_use' | 'end_turn';
}

export function replyOf(blocks: ReplyBlock[], model: string): Reply {
  return {
    id: `msg_${token()}`,
    model,
    blocks: blocks.map((block) => (block.type === 'tool_use' ? { ...block, id: `toolu_${token()}` } : block)),
    stopReason: blocks.some(({ type }) => type === 'tool_use') ? 'tool_use' : 'end_turn',
  };
}

/** The whole message as one JSON document. */
export function sendJson(response: ServerResponse, reply: Reply): void {
  const body = { ...envelope(reply), content: reply.blocks, stop_reason: reply.stopReason };
  response.writeHead(200, headers('application/json')).end(JSON.stringify(body));
}

/** The same as a stream of server-sent events. */
export function sendStream(response: ServerResponse, reply: Reply): void {
  response.writeHead(200, headers('text/event-stream'));
  const send = (type: string, more: object): void => {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`);
  };
  send('message_start', { message: { ...envelope(reply), content: [], stop_reason: null } });
  reply.blocks.forEach((block, index) => {
    const { start, delta } = parts(block);
    send('content_block_start', { index, content_block: start });
    send('content_block_delta', { index, delta });
    send('content_block_stop', { index });
  });
  send('message_delta', {
    delta: { stop_reason: reply.stopReason, stop_sequence: null },
    usage: { output_tokens: 20 },
  });
  send('message_stop', {});
  response.end();
}

/** An error as the real API words it; clients tell kinds by status and type. */
export function sendError(response: ServerResponse, status: number): void {
  const error = {
    type: ERROR_TYPES[status] ?? 'api_error',
    message: status === 529 ? 'Overloaded' : `Error ${status}`,
  };
  response.writeHead(status, headers('application/json')).end(JSON.stringify({ type: 'error', error }));
}

const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
};

function parts(block: Reply['blocks'][number]): { start: object; delta: object } {
  if (block.type === 'text') {
    return { start: { type: 'text', text: '' }, delta: { type: 'text_delta', text: block.text } };
  }
  return {
    start: { type: 'tool_use', id: block.id, name: block.name, input: {} },
    delta: { type: 'input_json_delta', partial_json: JSON.stringify(block.input) },
  };
}

const envelope = ({ id, model }: Reply): object => ({
  id,
  type: 'message',
  role: 'assistant',
  model,
  stop_sequence: null,
  usage: { input_tokens: 10, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
});

const headers = (type: string): Record<string, string> => ({ 'content-type': type, 'request-id': `req_${token()}` });
const token = (): string => randomBytes(9).toString('hex');
