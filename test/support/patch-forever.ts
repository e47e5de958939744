import { loadSettings } from '#shared/settings/environment.js';
import { createProjectWriter } from '#shared/settings/project-writer.js';

/** Patches one project's file until somebody kills it: `PROJECTS_DIR` and the slug `a`. */
const [server] = loadSettings(process.env).settings.chatServers;
if (server === undefined) throw new Error('no chat server');
const writer = createProjectWriter();
console.log('ready');
for (let value = 1; ; value += 1) await writer.patch(server, 'a', { maxRetries: value, debounceMs: value });
