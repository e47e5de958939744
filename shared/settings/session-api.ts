import { projectSlugSchema } from '#shared/session/events.js';
import { unknownPlaceholders } from '#shared/session-api/exec/command.js';
import { faultMessage, isMap, readBlock, type Level } from './precedence.ts';
import { sessionApiShape, type SessionApiDriver } from './session-api-schema.ts';
import type { SettingValues } from './setting.ts';
import type { StartProblem } from './start-rules.ts';

type Values = SettingValues<typeof sessionApiShape>;

/** How the sessions of a chat server, or of one of its projects, are reached. */
export interface SessionApiSettings extends Partial<Omit<Values, 'driver'>> {
  driver: SessionApiDriver;
  url: string | undefined;
  token: string | undefined;
}

/** The chat server's own, and what certain projects have other than it. */
export interface ServerSessionApi extends SessionApiSettings {
  projects?: Readonly<Record<string, SessionApiSettings>>;
}

export interface SessionApiResult {
  sessionApi: ServerSessionApi;
  problems: StartProblem[];
  warnings: string[];
}

/** Gives the name of a field (`sessionApi.url`) as its writer knows it. */
type Name = (field: string) => string;

/** Completes what was read of the chat server's own `sessionApi:` and checks what its driver needs. */
export function readSessionApi(level: Level<Values>, projects: unknown, name: Name): SessionApiResult {
  const own = complete(level.values);
  const problems = [
    ...level.faults.map((fault) => ({ field: fault.where, message: faultMessage(fault) })),
    ...missing(
      own,
      level.faults.map((fault) => fault.key),
      (key) => name(`sessionApi.${key}`),
    ),
  ];
  if (projects === undefined || projects === null) return { sessionApi: own, problems, warnings: [] };
  const at = name('sessionApi.projects');
  if (!isMap(projects)) {
    problems.push({ field: at, message: 'must be a map from project slugs to settings' });
    return { sessionApi: own, problems, warnings: [] };
  }
  const read = Object.entries(projects).map(([slug, block]) => readProject(own, slug, block, at));
  return {
    sessionApi: { ...own, projects: Object.fromEntries(read.map(({ slug, values }) => [slug, values])) },
    problems: [...problems, ...read.flatMap((project) => project.problems)],
    warnings: read.flatMap((project) => project.warnings),
  };
}

/** A project's fields win one by one over the chat server's. */
function readProject(own: SessionApiSettings, slug: string, block: unknown, at: string) {
  const where = `${at}.${slug === '' ? '""' : slug}`;
  const level = readBlock(sessionApiShape, block, `${where}.`);
  // A driver that was only derived from the address is derived anew.
  const values = complete({ ...own, ...level.values });
  const problems = [
    ...(projectSlugSchema.safeParse(slug).success ? [] : [{ field: where, message: 'is no project slug' }]),
    ...level.faults.map((fault) => ({ field: fault.where, message: faultMessage(fault) })),
    ...missing(
      values,
      level.faults.map((fault) => fault.key),
      (key) => `${where}.${key}`,
    ),
  ];
  const strange = isMap(block) ? Object.keys(block).filter((key) => !Object.hasOwn(sessionApiShape, key)) : [];
  const warnings = strange.length === 0 ? [] : [`${where} has unknown keys that are ignored: ${strange.join(', ')}`];
  return { slug, values, problems, warnings };
}

function complete(values: Partial<Values>): SessionApiSettings {
  const { url } = values;
  const driver = values.driver ?? (url === undefined ? 'none' : 'http');
  return { ...values, driver, url: url?.replace(/\/+$/, ''), token: values.token };
}

const NEEDS_URL: ReadonlySet<SessionApiDriver> = new Set(['http', 'paddock', 'herdctl']);

/** What the driver cannot do without. A field that was given and is wrong has its own sentence already. */
function missing(values: SessionApiSettings, faulty: readonly string[], name: Name): StartProblem[] {
  const { driver, url, send, status, into } = values;
  const problems: StartProblem[] = [];
  const need = (key: string, value: unknown, when: string): void => {
    if (value !== undefined || faulty.includes(key)) return;
    problems.push({ field: name(key), message: `is needed by the driver ${when}` });
  };
  if (NEEDS_URL.has(driver)) need('url', url, driver);
  if (driver !== 'exec') return problems;
  need('send', send, 'exec');
  // Nothing else can say whether a live process is busy.
  if (into === 'live') need('status', status, 'exec with into: live');
  for (const [key, command] of Object.entries({ send, status })) {
    const strange = unknownPlaceholders(command ?? []);
    if (strange.length > 0) {
      problems.push({ field: name(key), message: `has placeholders that mean nothing: {${strange.join('}, {')}}` });
    }
  }
  return problems;
}
