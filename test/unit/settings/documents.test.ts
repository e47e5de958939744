import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { SETTINGS_CATALOGUE } from '#shared/settings/catalogue.js';
import { loadSettings } from '#shared/settings/environment.js';
import { resolveRecovery } from '#shared/settings/precedence.js';
import {
  renderEnvExample,
  renderReadmeTable,
  renderSettingsTables,
  withGenerated,
} from '../../../scripts/render-settings.ts';

const read = (file: string): string => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8');

describe('documents of the settings are those of the schema (else: npm run generate)', () => {
  it('.env.example', () => expect(read('.env.example')).toBe(renderEnvExample()));
  it('README.md', () => expect(read('README.md')).toBe(withGenerated(read('README.md'), renderReadmeTable())));
  it('docs/settings.md', () =>
    expect(read('docs/settings.md')).toBe(withGenerated(read('docs/settings.md'), renderSettingsTables())));
});

describe('.env.example', () => {
  it('changes nothing when every line of it is put in force', () => {
    const text = read('.env.example').replaceAll(/^# (?=[A-Z_]+=)/gm, '');
    const env = parseEnv(text);
    expect(Object.keys(env).toSorted()).toEqual(SETTINGS_CATALOGUE.map((entry) => entry.variable).toSorted());
    const { settings, warnings } = loadSettings({ HOME: '/h', ...env });
    expect(settings).toEqual(loadSettings({ HOME: '/h' }).settings);
    expect(warnings).toEqual([]);
    const recovery = resolveRecovery({ environment: env });
    expect(recovery.effective.values).toEqual(resolveRecovery({}).effective.values);
    expect(recovery.warnings).toEqual([]);
  });
});

describe('the catalogue', () => {
  it('has a variable and a key of its own for each setting', () => {
    const variables = SETTINGS_CATALOGUE.map((entry) => entry.variable);
    expect(new Set(variables).size).toBe(variables.length);
    expect(variables.every((variable) => /^[A-Z][A-Z0-9_]+$/.test(variable))).toBe(true);
    expect(new Set(SETTINGS_CATALOGUE.map((entry) => entry.key)).size).toBe(variables.length);
  });

  it('marks the five recovery settings as live, and no other', () => {
    expect(SETTINGS_CATALOGUE.filter((entry) => entry.live).map((entry) => entry.key)).toEqual([
      'recovery.surfaceKilledTask',
      'recovery.autoReDrive',
      'recovery.debounceMs',
      'recovery.maxRetries',
      'recovery.limboTimeoutMs',
    ]);
  });
});

describe('the examples of docs/settings.md', () => {
  const blocks = [...read('docs/settings.md').matchAll(/```yaml\n(.*?)```/gs)].map((match): unknown =>
    parse(match[1] ?? ''),
  );
  const env = {
    HOME: '/h',
    ADMIN_TOKEN_FROM_VAULT: 'a',
    BLUE_WEBHOOK_SECRET: 'b',
    BLUE_WEBHOOK_SECRET_NEXT: 'c',
    BLUE_TOKEN: 'd',
    GREEN_WEBHOOK_SECRETS: 'e,f',
  };

  it('load without a warning, and say what the page says', () => {
    const [instance, project, servers] = blocks;
    const loaded = loadSettings(env, instance);
    expect(loaded.settings).toMatchObject({ maxNudgesPerHour: 30, sessionTtlMs: 604_800_000, adminToken: 'a' });
    expect(loaded.warnings).toEqual([]);
    expect(project).toMatchObject({ recovery: { autoReDrive: false } });
    const several = loadSettings(env, servers);
    expect(several.settings.chatServers.map((server) => server.webhookSecrets)).toEqual([
      ['b', 'c'],
      ['e', 'f'],
    ]);
    expect(several.warnings).toEqual([]);
  });
});
