import { randomBytes } from 'node:crypto';

export interface LaunchedTask {
  taskId: string;
  toolUseId: string;
  command: string;
  description: string;
}

/** Where a prompt came from, as the runtime marks it. */
export type PromptOrigin = 'human' | 'sdk' | 'task-notification';

/** A task id and a tool call id that look like the runtime's. */
export function newTask(command: string, description: string): LaunchedTask {
  const taskId = `b${randomBytes(8).toString('hex').slice(0, 8)}`;
  return { taskId, toolUseId: `toolu_${randomBytes(12).toString('hex')}`, command, description };
}

/** Claude Code names a project's folder after its directory: every non-alphanumeric becomes `-`. */
export const encodeCwd = (cwd: string): string => cwd.replaceAll(/[^a-zA-Z0-9]/g, '-');

/** The fields by which an entry says where its prompt came from. */
export const originFields = (origin: PromptOrigin): object => ORIGINS[origin]();

const ORIGINS: Record<PromptOrigin, () => object> = {
  human: () => ({ origin: { kind: 'human' }, promptSource: 'sdk', rowSource: 'local', turnOrigin: 'human' }),
  sdk: () => ({ promptSource: 'sdk', rowSource: 'local', turnOrigin: 'sdk' }),
  'task-notification': () => ({
    origin: { kind: 'task-notification', producer: 'session-task', runId: randomBytes(6).toString('hex') },
    promptSource: 'system',
    rowSource: 'recorded',
    turnOrigin: 'task_notification',
    queueSkipAttachments: true,
  }),
};

/** The tool's answer to a command that was sent to the background. */
export const toolResult = (task: LaunchedTask, outputFile: string): object => ({
  tool_use_id: task.toolUseId,
  type: 'tool_result',
  content:
    `Command running in background with ID: ${task.taskId}. Output is being written to: ${outputFile}. ` +
    'You will be notified when it completes. To check interim output, use Read on that file path.',
  is_error: false,
});
