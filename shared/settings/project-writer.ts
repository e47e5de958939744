import type { z } from 'zod';
import { Problem } from '#shared/platform/problem.js';
import { replaceFile } from './atomic-file.ts';
import type { ChatServer } from './chat-servers.ts';
import { locateProject, markOf, PROJECT_FILE, readProjectFile } from './project-file.ts';
import { recoveryChangeSchema } from './recovery.ts';
import { keysOf, recordFrom } from './records.ts';
import { editBlock, removeBlock } from './yaml-edit.ts';
import type { BlockChange } from './yaml-splice.ts';
import { YamlFault } from './yaml-text.ts';

/** Writes projects' own settings. Writers of one file wait for each other, so that none is lost. */
export interface ProjectWriter {
  /** Throws {@link Problem} 404 `project_unknown`, 409 `project_file_invalid`, 422 `invalid_setting`. */
  patch(server: ChatServer, slug: string, change: unknown): Promise<void>;
  clear(server: ChatServer, slug: string): Promise<void>;
}

/** Somebody else (an editor) wrote between our read and our rename: read again, this often at most. */
const MAX_TRIES = 5;

export function createProjectWriter(): ProjectWriter {
  const tails = new Map<string, Promise<void>>();

  const inTurn = async (path: string, work: () => Promise<void>): Promise<void> => {
    const before = tails.get(path);
    const turn = Promise.allSettled([before]).then(work);
    tails.set(path, turn);
    try {
      await turn;
    } finally {
      if (tails.get(path) === turn) tails.delete(path);
    }
  };

  /** In the order of the calls for each project, and one at a time for each file, whatever links lead to it. */
  const change = (server: ChatServer, slug: string, edit: (text: string) => string): Promise<void> =>
    inTurn(`project ${server.id} ${slug}`, async () => {
      const path = await placeOf(server, slug);
      await inTurn(`file ${path}`, () => rewrite(path, edit));
    });

  return {
    patch: (server, slug, fields) => change(server, slug, (text) => editBlock(text, 'recovery', checkChange(fields))),
    clear: (server, slug) => change(server, slug, (text) => removeBlock(text, 'recovery')),
  };
}

async function placeOf(server: ChatServer, slug: string): Promise<string> {
  const unknown = (why: string): Problem =>
    new Problem({
      status: 404,
      code: 'project_unknown',
      detail: `Project ${JSON.stringify(slug)} ${why}.`,
      field: 'slug',
    });
  if (server.projectsDir === undefined) throw unknown(`has no folder: chat server ${server.id} has no projectsDir`);
  const place = await locateProject(server.projectsDir, slug);
  if (place.kind === 'unknown') throw unknown(`has no folder under the projectsDir of chat server ${server.id}`);
  if (place.kind === 'refused') throw unknown(place.why);
  return place.path;
}

/** Every field or none: a change with one bad field writes nothing. Throws 422 that names the first, and all in `errors`. */
function checkChange(change: unknown): BlockChange {
  const read = recoveryChangeSchema.safeParse(change);
  if (!read.success) throw invalid(read.error.issues.flatMap(errorsOf));
  return recordFrom<BlockChange>(keysOf(read.data), (field) => Reflect.get(read.data, field));
}

function errorsOf(issue: z.core.$ZodIssue): { field: string; message: string }[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((field) => ({ field, message: 'is no recovery setting' }));
  const field = issue.path.join('.');
  return [{ field, message: field === '' ? 'the change must be an object of settings' : issue.message }];
}

function invalid(errors: readonly { field: string; message: string }[]): Problem {
  const [first] = errors;
  return new Problem({
    status: 422,
    code: 'invalid_setting',
    detail: `${errors.map(({ field, message }) => `${field} ${message}`.trim()).join('; ')}.`,
    ...(first === undefined || first.field === '' ? {} : { field: first.field }),
    extra: { errors },
  });
}

async function rewrite(path: string, edit: (text: string) => string): Promise<void> {
  for (let attempt = 1; attempt <= MAX_TRIES; attempt += 1) {
    const read = await readForEdit(path);
    const text = edited(read?.text ?? '', edit);
    if (text === read?.text || (read === undefined && text === '')) return;
    const unchanged = async (): Promise<boolean> => (await markOf(path)) === read?.mark;
    if (await replaceFile(path, text, read?.identity, unchanged)) return;
  }
  throw new Problem({
    status: 409,
    code: 'project_file_busy',
    detail: `${PROJECT_FILE} is being changed by somebody else all the time; nothing was written.`,
  });
}

async function readForEdit(path: string): ReturnType<typeof readProjectFile> {
  try {
    return await readProjectFile(path);
  } catch (error) {
    throw fileInvalid(error instanceof Error ? error.message : String(error), error);
  }
}

function edited(text: string, edit: (text: string) => string): string {
  try {
    return edit(text);
  } catch (error) {
    if (error instanceof Problem) throw error;
    if (error instanceof YamlFault) throw fileInvalid(error.message, error, { line: error.line });
    throw fileInvalid(error instanceof Error ? error.message : String(error), error);
  }
}

function fileInvalid(why: string, cause: unknown, extra: Record<string, unknown> = {}): Problem {
  const problem = new Problem({
    status: 409,
    code: 'project_file_invalid',
    detail: `${PROJECT_FILE} cannot be edited: ${why}. It was left as it is.`,
    extra,
  });
  problem.cause = cause;
  return problem;
}
