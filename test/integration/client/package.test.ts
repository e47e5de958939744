import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT } from '../../support/processes.ts';

const TSC = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
const root = mkdtempSync(join(tmpdir(), 'client-package-'));
const packageDir = join(root, 'node_modules', 'chat-recovery');
const clientDir = join(packageDir, 'dist', 'shared', 'client');

/** The package as npm would install it, as far as the client needs it: no other package beside it. */
beforeAll(() => {
  const config = {
    extends: join(ROOT, 'tsconfig.build.json'),
    compilerOptions: { outDir: join(packageDir, 'dist'), rootDir: ROOT },
    include: [],
    files: [join(ROOT, 'shared/client/index.ts')],
  };
  writeFileSync(
    join(root, 'tsconfig.package.json'),
    JSON.stringify({
      ...config,
      compilerOptions: { ...config.compilerOptions, typeRoots: [join(ROOT, 'node_modules/@types')] },
    }),
  );
  execFileSync(process.execPath, [TSC, '-p', join(root, 'tsconfig.package.json')], { stdio: 'pipe' });
  cpSync(join(ROOT, 'package.json'), join(packageDir, 'package.json'));
  writeFileSync(join(root, 'package.json'), '{"type":"module"}');
}, 60_000);
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** What the compiler says of a consumer's file; '' where it is right. */
const compile = (name: string, text: string): string => {
  writeFileSync(join(root, name), text);
  const options = [
    '--strict',
    '--module',
    'nodenext',
    '--target',
    'es2022',
    '--lib',
    'es2022',
    '--types',
    '',
    '--noEmit',
  ];
  try {
    execFileSync(process.execPath, [TSC, ...options, '--ignoreConfig', name], { cwd: root, stdio: 'pipe' });
    return '';
  } catch (error) {
    return String((error as { stdout: Buffer }).stdout);
  }
};

describe('chat-recovery/client as it is published', () => {
  test('has types that name no package and nothing outside of its folder', () => {
    const files = readdirSync(clientDir).filter((name) => name.endsWith('.d.ts'));
    expect(files).toContain('index.d.ts');
    const imports = files.flatMap((name) =>
      [...readFileSync(join(clientDir, name), 'utf8').matchAll(/^(?:import|export) .*from '([^']+)'/gm)].map(
        ([, from = '']) => from,
      ),
    );
    expect(imports.filter((from) => !from.startsWith('./'))).toEqual([]);
  });

  test('compiles in a strict project without any other package, and refuses a wrong event', () => {
    const head = `import { createLifecycleClient, type LifecycleEvent } from 'chat-recovery/client';
const client = createLifecycleClient({ outboxDir: '/tmp/x', target: { url: 'http://x' } });
export type Type = LifecycleEvent['type'];\n`;
    const ended = (more: string) =>
      `${head}client.emit('turn.ended', { sessionId: 's', project: '', driveMode: 'session', outcome: 'completed', cause: 'human'${more} });\n`;
    expect(compile('good.ts', ended(`, transcriptPath: '/t'`))).toBe('');
    expect(compile('pathless.ts', ended(''))).toContain('error TS');
    expect(compile('wrong.ts', `${head}client.emit('turn.over', {});\n`)).toContain('error TS');
  });

  test('runs on plain node with no other package beside it', () => {
    mkdirSync(join(root, 'outbox'));
    writeFileSync(
      join(root, 'run.js'),
      `import { createLifecycleClient } from 'chat-recovery/client';
const client = createLifecycleClient({ outboxDir: './outbox' });
client.emit('message.human', { sessionId: 's', project: '' });
console.log(client.pending());
await client.close();`,
    );
    expect(execFileSync(process.execPath, ['run.js'], { cwd: root, encoding: 'utf8' })).toBe('1\n');
    expect(readdirSync(join(root, 'outbox'))).toHaveLength(1);
  });
});
