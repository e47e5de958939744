import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { directionFaults, missingTargets, projectSources, purityFaults, sourceOf } from '../support/architecture.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const sources = projectSources(ROOT);

/** They decide, so the same arguments must give the same answer: no I/O, no clock, no chance, in all that they load. */
const PURE = [
  'shared/transcript/signature.ts',
  'shared/transcript/entry.ts',
  'shared/transcript/finding.ts',
  'shared/settings/precedence.ts',
  'shared/settings/recovery.ts',
  'shared/trail/reasons.ts',
  'shared/session/events.ts',
  'shared/queue/jobs.ts',
  'services/recovery-worker/decide.ts',
];

describe('the rooms of the project', () => {
  it('import only in the allowed directions', () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(directionFaults(sources)).toEqual([]);
  });

  it('import only files that are there', () => expect(missingTargets(ROOT, sources)).toEqual([]));

  it.each(PURE.filter((file) => existsSync(ROOT + file)))('%s is pure', (file) =>
    expect(purityFaults(file, sources)).toEqual([]),
  );
});

const faults = (file: string, text: string): string[] => directionFaults([sourceOf(file, text)]);

describe('the check itself', () => {
  it.each([
    ['services/watcher/a.ts', "import { x } from '../recovery-worker/b.ts';"],
    ['services/watcher/a.ts', "import type { X } from '../recovery-worker/b.ts';"],
    ['services/watcher/routes/a.ts', "export * from '../../../cli/main.ts';"],
    ['services/watcher/a.ts', "import {\n  x,\n} from '../../test/support/redis.ts';"],
    ['services/watcher/a.ts', "import { x } from '../../shared/trail/b.ts';"],
    ['shared/trail/a.ts', "import '../../services/watcher/b.ts';"],
    ['shared/trail/a.ts', "const b = await import('../../cli/b.ts');"],
    ['shared/trail/a.ts', "import { x } from '../queue/b.ts';"],
    ['examples/chat-server/a.ts', "import { x } from '../../services/watcher/b.ts';"],
  ])('finds the fault in %s: %s', (file, text) => expect(faults(file, text)).toHaveLength(1));

  it.each([
    [
      'services/watcher/a.ts',
      "import { x } from './routes/b.ts';\nimport { y } from '#shared/trail/b.js';\nimport z from 'zod';",
    ],
    ['shared/trail/a.ts', "import { x } from './b.ts';\nimport { y } from '#shared/queue/b.js';"],
    ['shared/trail/a.ts', "// import { x } from '../../services/watcher/b.ts';\n/* import '../../cli/b.ts' */"],
    ['cli/demo/a.ts', "import { x } from '../../services/watcher/b.ts';\nimport { y } from '../../test/support/c.ts';"],
  ])('finds none in %s', (file, text) => expect(faults(file, text)).toEqual([]));

  it('follows what a pure file loads, and not what it only names as a type', () => {
    const made = [
      sourceOf(
        'shared/a/pure.ts',
        "import { b } from './b.ts';\nimport type { R } from './redis.ts';\nimport { z } from 'zod';",
      ),
      sourceOf('shared/a/b.ts', "import { readFile } from 'node:fs/promises';\nexport const now = () => Date.now();"),
      sourceOf('shared/a/redis.ts', "import Redis from 'ioredis';"),
    ];
    expect(purityFaults('shared/a/pure.ts', made)).toEqual([
      'shared/a/b.ts uses Date.now',
      'shared/a/b.ts imports node:fs/promises',
    ]);
    expect(purityFaults('shared/a/redis.ts', made)).toEqual(['shared/a/redis.ts imports ioredis']);
  });
});
