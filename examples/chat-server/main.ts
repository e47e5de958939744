import { createLogger } from '../../shared/platform/logger.ts';
import { runUntilStopped } from '../../shared/platform/shutdown.ts';
import { settingsFromEnvironment } from './settings.ts';
import { startExampleChatServer } from './start.ts';

/** The example chat server as a process of its own. */
const logger = createLogger({ level: 'info', name: 'chat-server' });
const { options, startChats } = settingsFromEnvironment(process.env);
const server = await startExampleChatServer({
  ...options,
  log: (error) => logger.error({ err: error }, 'A request failed.'),
});
server.happenings.listen(({ sessionId, kind, fields }) => logger.info({ sessionId, ...fields }, kind));
runUntilStopped({ logger, deadlineMs: 5_000, stop: (step) => step('chat server', () => server.close()) });
logger.info({ url: server.url, claudeHome: server.claudeHome }, 'Listening.');
for (const script of startChats) {
  await server.chats.create({ project: 'demo', prompt: 'Please build the project.', script });
}
