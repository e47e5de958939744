import { watch } from 'node:fs';
import { answer } from '../kit/stand-in.ts';

/** The least that hears of each append: `fs.watch` on the folders, counting. */
let events = 0;

answer((question: { folders: string[] } | { report: true }) => {
  if ('report' in question) {
    const { user, system } = process.cpuUsage();
    return { events, cpuMs: (user + system) / 1_000 };
  }
  for (const folder of question.folders) watch(folder, () => (events += 1));
  return undefined;
});
