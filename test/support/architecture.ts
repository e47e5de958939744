import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';

/** One import or re-export of a source file. */
export interface Import {
  /** As written. */
  specifier: string;
  /** Erased by the compiler: no code is loaded. */
  typeOnly: boolean;
}

/** A source file: its path from the repository's root, and its text without comments. */
export interface Source {
  file: string;
  code: string;
  imports: Import[];
}

const IMPORTS = [
  /\b(import|export)\s+(type\s)?(?:[\w*\s{},$]*?\sfrom\s*)?['"]([^'"]+)['"]/g,
  /\b(import)\s*(\s)?\(\s*['"]([^'"]+)['"]/g,
];

/** Reads what a text imports. */
export function sourceOf(file: string, text: string): Source {
  const code = text.replaceAll(/\/\*[^]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '$1');
  const imports = IMPORTS.flatMap((pattern) =>
    [...code.matchAll(pattern)].map((match) => ({
      specifier: match[3] ?? '',
      typeOnly: (match[2] ?? '').trim() === 'type',
    })),
  );
  return { file, code, imports };
}

const ROOMS = ['services', 'shared', 'cli', 'examples', 'scripts', 'bench'];

function filesUnder(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.name === 'node_modules') return [];
    return entry.isDirectory() ? filesUnder(root, path) : [path];
  });
}

/** Every TypeScript source of the project. */
export function projectSources(root: string): Source[] {
  const files = ROOMS.flatMap((room) => filesUnder(root, room)).filter((file) => file.endsWith('.ts'));
  return files.map((file) => sourceOf(file, readFileSync(join(root, file), 'utf8')));
}

/** The file that an import means, or `undefined` for a package and for Node's own modules. */
export function targetOf(source: Source, { specifier }: Import): string | undefined {
  if (specifier.startsWith('#shared/')) return specifier.slice(1).replace(/\.js$/, '.ts');
  return specifier.startsWith('.') ? join(dirname(source.file), specifier) : undefined;
}

/** Name of the service, or `undefined` outside of `services/`. */
function serviceOf(file: string): string | undefined {
  return /^services\/([^/]+)\//.exec(file)?.[1];
}

const roomOf = (file: string): string => /^shared\/[^/]+\//.exec(file)?.[0] ?? '';

/** What is wrong with the import directions, one sentence each. */
export function directionFaults(sources: readonly Source[]): string[] {
  return sources.flatMap((source) =>
    source.imports.flatMap((imported) => {
      const target = targetOf(source, imported);
      const rule = target === undefined ? undefined : brokenRule(source.file, target, imported.specifier);
      return rule === undefined ? [] : [`${source.file} imports ${imported.specifier}: ${rule}`];
    }),
  );
}

function brokenRule(from: string, target: string, specifier: string): string | undefined {
  if (target.startsWith('..')) return 'that is outside of the project';
  if (target.startsWith('test/') && !from.startsWith('cli/') && !from.startsWith('bench/'))
    return 'only tests, benches and the CLI use what is made for tests';
  if (from.startsWith('shared/')) {
    if (!target.startsWith('shared/')) return 'shared imports nothing of what is built on it';
    const across = roomOf(from) !== roomOf(target);
    return across && specifier.startsWith('.') ? 'across rooms it is #shared/room/file.js' : undefined;
  }
  if (target.startsWith('shared/')) {
    // An example is a package of its own, where `#shared` means nothing.
    const relative = specifier.startsWith('.') && !from.startsWith('examples/');
    return relative ? 'it is #shared/room/file.js from here' : undefined;
  }
  const service = serviceOf(from);
  if (service !== undefined && serviceOf(target) !== service)
    return 'a service imports itself and shared, nothing else';
  if (from.startsWith('examples/') && !target.startsWith('examples/')) return 'an example imports shared, nothing else';
  return undefined;
}

/** Packages and modules of Node that do no I/O and read no clock. */
const PURE_MODULES = ['zod', 'node:util', 'node:crypto', 'node:buffer', 'node:path'];
/** What makes two calls with the same arguments differ, or reaches outside. */
const IMPURE_CALLS =
  /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)|\bperformance\.|\bprocess\.|\bMath\.random\b|\brandom(UUID|Bytes|Int)\b|\bfetch\(|\bset(Timeout|Interval|Immediate)\b|\bconsole\./;

/** What is impure in `file` and in everything that it loads, one sentence each. */
export function purityFaults(file: string, sources: readonly Source[]): string[] {
  const byFile = new Map(sources.map((source) => [source.file, source]));
  const seen = new Set<string>();
  const visit = (path: string): string[] => {
    if (seen.has(path)) return [];
    seen.add(path);
    const source = byFile.get(path);
    if (source === undefined) return [`${path} is loaded by ${file} and is no source of the project`];
    const call = IMPURE_CALLS.exec(source.code)?.[0];
    const faults = call === undefined ? [] : [`${path} uses ${call}`];
    for (const imported of source.imports.filter(({ typeOnly }) => !typeOnly)) {
      const target = targetOf(source, imported);
      if (target !== undefined) faults.push(...visit(target));
      else if (!PURE_MODULES.includes(imported.specifier)) faults.push(`${path} imports ${imported.specifier}`);
    }
    return faults;
  };
  return visit(file);
}

/** Imports of files that are not there, one sentence each. */
export function missingTargets(root: string, sources: readonly Source[]): string[] {
  return sources.flatMap((source) =>
    source.imports.flatMap((imported) => {
      const target = targetOf(source, imported);
      return target === undefined || existsSync(join(root, target)) ? [] : [`${source.file} imports ${target}`];
    }),
  );
}
