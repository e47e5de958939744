import { dirname } from 'node:path';
import type { ChatServer } from './chat-servers.ts';
import { faultText, readRecoveryBlock } from './precedence.ts';
import { folderMark, locateProject, markOf, readProjectFile, type FileRead } from './project-file.ts';
import type { RecoverySettings } from './recovery.ts';
import { parseYamlMap, YamlFault } from './yaml-text.ts';

/** What is known of one project. */
export interface ProjectState {
  exists: boolean;
  /** Valid fields of its own block. */
  override: Partial<RecoverySettings>;
  warnings: readonly string[];
}

/** A state, and whether it may be kept for as long as the file's stamps stay the same. */
export interface StateRead {
  state: ProjectState;
  settled: boolean;
}

/** A file that was written this short a time ago may be written again without a change of its stamps (some count seconds). */
const RACY_MS = 2_000;
/** A file that was emptied this short a time ago is most likely being written: truncated, and the text still to come. */
const TRUNCATED_MS = 50;

/** What `stat` says of a project's file, as one comparable text: the file, else its folder, else why there is nothing. */
export async function markText(path: string): Promise<string> {
  try {
    return (await markOf(path)) ?? `no file in ${(await folderMark(dirname(path))) ?? 'no folder'}`;
  } catch (error) {
    return reasonOf(error);
  }
}

/**
 * Reads a project's own block. `last` is what it said before: that stays in force where the file cannot be read or does not
 * parse, with a warning. Never throws.
 */
export async function readState(
  server: ChatServer & { projectsDir: string },
  slug: string,
  last: ProjectState,
): Promise<StateRead> {
  try {
    const place = await locateProject(server.projectsDir, slug);
    if (place.kind === 'unknown') return kept({ exists: false, override: {}, warnings: [] });
    if (place.kind === 'refused') {
      const warning = `Project ${JSON.stringify(slug)} of chat server ${server.id} ${place.why}: its own settings are not read`;
      return kept({ exists: false, override: {}, warnings: [warning] });
    }
    const read = await readProjectFile(place.path);
    if (read === undefined) return kept({ exists: true, override: {}, warnings: [] });
    return parsed(read, place.path, last);
  } catch (error) {
    const warning = `The settings of project ${JSON.stringify(slug)} of chat server ${server.id} cannot be read: ${reasonOf(error)}`;
    return kept({ ...last, warnings: [`${warning}; the last good values stay in force`] });
  }
}

function parsed(read: FileRead, path: string, last: ProjectState): StateRead {
  const ageMs = Date.now() - read.mtimeMs;
  const settled = ageMs >= RACY_MS;
  const emptied = read.text.trim() === '' && Object.keys(last.override).length > 0;
  if (emptied && ageMs < TRUNCATED_MS) return kept(last, false);
  try {
    const block = readRecoveryBlock(parseYamlMap(read.text).value['recovery'], `${path}: recovery.`);
    return kept({ exists: true, override: block.values, warnings: block.faults.map(faultText) }, settled);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    const warning = `${path}, ${error.message}; the last good values stay in force`;
    return kept({ exists: true, override: last.override, warnings: [warning] }, settled);
  }
}

function kept(state: ProjectState, settled = true): StateRead {
  return { state, settled };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? String(error.code) : error.message;
}
