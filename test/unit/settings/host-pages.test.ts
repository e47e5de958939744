import { parse } from 'yaml';
import { describe, expect, it } from 'vitest';
import { loadSettings } from '#shared/settings/environment.js';
import { SESSION_API_DRIVERS } from '#shared/settings/session-api-schema.js';
import { codeBlocks, hostPages } from '../../support/host-pages.ts';

/** The settings of a page's first YAML block; every variable that it refers to is set. */
const load = (page: string) => {
  const [yaml = ''] = codeBlocks(page, 'yaml');
  const referred = [...yaml.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'set']);
  return loadSettings({ HOME: '/h', ...Object.fromEntries(referred) }, parse(yaml));
};
const firstApi = ({ settings }: ReturnType<typeof load>) => settings.chatServers[0]?.sessionApi;

describe('the pages of docs/hosts', () => {
  it.each(hostPages())('%s gives settings that load without a warning', (page) => {
    const loaded = load(page);
    expect(loaded.warnings).toEqual([]);
    expect(firstApi(loaded)?.driver).not.toBe('none');
  });

  it('show every driver', () => {
    const shown = hostPages().map((page) => firstApi(load(page))?.driver);
    expect(new Set([...shown, 'none'])).toEqual(new Set(SESSION_API_DRIVERS));
  });

  it('give variables for Claude Code alone that say the same as the file', () => {
    const [shell = ''] = codeBlocks('claude-code.md', 'sh');
    const exported = Object.fromEntries(
      [...shell.matchAll(/^export (\w+)=(?:'([^']*)'|(\S+))/gm)].map(([, name = '', quoted, plain]) => [
        name,
        quoted ?? plain,
      ]),
    );
    const byVariables = firstApi(loadSettings({ HOME: '/h', ...exported }));
    const byFile = firstApi(load('claude-code.md'));
    expect(byVariables).toEqual(byFile);
  });
});
