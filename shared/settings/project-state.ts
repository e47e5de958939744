import type { ChatServer } from './chat-servers.ts';
import { faultText, readRecoveryBlock } from './precedence.ts';
import { locateProject, markOf, readProjectFile, type FileRead } from './project-file.ts';
import type { RecoverySettings } from './recovery.ts';
import { parseYamlMap, YamlFault } from './yaml-text.ts';

/** What is known of one project. */
export interface ProjectState {
  exists: boolean;
  /** Valid fields of its own block. */
  override: Partial<RecoverySettings>;
  warnings: readonly string[];
}

/** A state, and the mark under which it may be kept; `undefined` mark: read again at the next look. */
export interface StateRead {
  state: ProjectState;
  mark: string | undefined;
}

/** A file that was written this short a time ago may be written again without a change of its stamps. */
const RACY_MS = 50;

/** `stat` as one comparable text, whatever comes of it. */
export async function markText(path: string): Promise<string> {
  try {
    return (await markOf(path)) ?? 'missing';
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
    if (place.kind === 'unknown') return kept({ exists: false, override: {}, warnings: [] }, undefined);
    if (place.kind === 'refused') {
      const warning = `Project ${JSON.stringify(slug)} of chat server ${server.id} ${place.why}: its own settings are not read`;
      return kept({ exists: false, override: {}, warnings: [warning] }, undefined);
    }
    const read = await readProjectFile(place.path);
    if (read === undefined) return kept({ exists: true, override: {}, warnings: [] }, 'missing');
    return parsed(read, place.path, last);
  } catch (error) {
    const warning = `The settings of project ${JSON.stringify(slug)} of chat server ${server.id} cannot be read: ${reasonOf(error)}`;
    return kept({ ...last, warnings: [`${warning}; the last good values stay in force`] }, undefined);
  }
}

function parsed(read: FileRead, path: string, last: ProjectState): StateRead {
  const racy = Date.now() - read.mtimeMs < RACY_MS;
  const mark = racy ? undefined : read.mark;
  // A file that is empty this very moment is most likely being written: truncated, and the text still to come.
  if (racy && read.text.trim() === '' && Object.keys(last.override).length > 0) return kept(last, undefined);
  try {
    const block = readRecoveryBlock(parseYamlMap(read.text).value['recovery'], `${path}: recovery.`);
    return kept({ exists: true, override: block.values, warnings: block.faults.map(faultText) }, mark);
  } catch (error) {
    if (!(error instanceof YamlFault)) throw error;
    const warning = `${path}, ${error.message}; the last good values stay in force`;
    return kept({ exists: true, override: last.override, warnings: [warning] }, mark);
  }
}

function kept(state: ProjectState, mark: string | undefined): StateRead {
  return { state, mark };
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error ? String(error.code) : error.message;
}
