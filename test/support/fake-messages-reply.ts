import { z } from 'zod';

/**
 * What the fake model says: pure, from one request to one reply.
 *
 * A user's message may hold a directive, and the model does what it says:
 * - `BG::command` runs it in the background; `BGT::ms;;command` with a time limit
 * - `FG::command` runs it in the foreground
 * - `AGENT::command` has a sub-agent run it in the background
 */

const blockSchema = z.object({ type: z.string(), text: z.string().optional(), content: z.unknown().optional() });
const messageSchema = z.object({ role: z.string(), content: z.union([z.string(), z.array(blockSchema)]) });

/** As much of a Messages API request as a reply needs. */
export const messagesRequestSchema = z.object({
  model: z.string().default('claude-sonnet-4-5'),
  stream: z.boolean().default(false),
  messages: z.array(messageSchema).default([]),
  tools: z.array(z.object({ name: z.string().default('') })).default([]),
});
export type MessagesRequest = z.infer<typeof messagesRequestSchema>;

export type ReplyBlock =
  | { type: 'text'; text: string }
  | { type: 'tool_use'; name: string; input: Record<string, unknown> };

/** What the model is looking at. */
export interface Prompt {
  /** The last message as text, reminders of the runtime included. */
  full: string;
  /** The same without reminders. */
  said: string;
  /** Everything that users said so far. */
  history: string;
  tools: string[];
}

export function promptOf(request: MessagesRequest): Prompt {
  const full = textOf(request.messages.at(-1));
  return {
    full,
    said: full.replaceAll(/<system-reminder>[\s\S]*?<\/system-reminder>/g, '').trim(),
    history: request.messages
      .filter(({ role }) => role === 'user')
      .map((message) => textOf(message))
      .join('\n'),
    tools: request.tools.map(({ name }) => name),
  };
}

/** The blocks of the reply, in order; a tool call among them means that the model goes on after its result. */
export function replyTo(prompt: Prompt): ReplyBlock[] {
  const directive = /(?:^|\s)(BGT?|FG|AGENT)::(.*)/.exec(prompt.said);
  if (prompt.tools.length === 0 && directive === null) return say('ok');
  if (isSubAgent(prompt)) return subAgent(prompt);
  if (prompt.said.includes(TOOL_RESULT)) return say(afterTool(prompt));
  const [, name, argument = ''] = directive ?? [];
  if (name !== undefined) return obey(name, argument, prompt.tools);
  const status = reportedStatus(prompt);
  return say(status === undefined ? 'OK, continuing in the foreground.' : `The background task reported: ${status}.`);
}

const TOOL_RESULT = '[[TOOL_RESULT]]';
const SUB_AGENT = 'SUBAGENT_RUN::';

const say = (text: string): ReplyBlock[] => [{ type: 'text', text }];

const bash = (input: Record<string, unknown>): ReplyBlock => ({ type: 'tool_use', name: 'Bash', input });

function obey(name: string, argument: string, tools: string[]): ReplyBlock[] {
  if (name === 'FG') {
    const call = bash({ command: argument, description: 'Run in foreground' });
    return [...say('Running it in the foreground.'), call];
  }
  if (name === 'AGENT') {
    const input = {
      description: 'long job',
      prompt: `${SUB_AGENT}${argument}`,
      subagent_type: 'general-purpose',
      run_in_background: true,
    };
    const tool = tools.includes('Agent') ? 'Agent' : 'Task';
    return [...say('Launching an agent.'), { type: 'tool_use', name: tool, input }];
  }
  const [limit, command] = name === 'BGT' ? argument.split(';;') : [undefined, argument];
  const more = limit === undefined ? {} : { timeout: Number(limit) };
  const call = bash({ command, description: 'Run the long build', run_in_background: true, ...more });
  return [...say('Starting the build in the background.'), call];
}

const isSubAgent = ({ history }: Prompt): boolean =>
  history.includes(SUB_AGENT) && !history.replaceAll(SUB_AGENT, '').includes('AGENT::');

function subAgent({ said }: Prompt): ReplyBlock[] {
  const command = /SUBAGENT_RUN::(.*)/.exec(said)?.[1];
  if (command === undefined || said.includes(TOOL_RESULT)) return say('Sub-agent finished its job.');
  return [{ type: 'tool_use', name: 'Bash', input: { command, description: 'sub-agent job' } }];
}

function afterTool(prompt: Prompt): string {
  const status = reportedStatus(prompt);
  if (status !== undefined) return `Folded in: the background task reported ${status}.`;
  return 'Kicked it off in the background; standing by.';
}

/** The status of a task notification that the model is shown, wrapped in a reminder or not. */
const reportedStatus = ({ full }: Prompt): string | undefined =>
  /<task-notification>[\s\S]*?<status>([\s\S]*?)<\/status>/.exec(full)?.[1];

function textOf(message: z.infer<typeof messageSchema> | undefined): string {
  if (message === undefined) return '';
  if (typeof message.content === 'string') return message.content;
  return message.content.map((block) => blockText(block)).join('\n');
}

function blockText({ type, text, content }: z.infer<typeof blockSchema>): string {
  if (type === 'text') return text ?? '';
  if (type === 'tool_result') return `${TOOL_RESULT}${typeof content === 'string' ? content : JSON.stringify(content)}`;
  return `[${type}]`;
}
