import { describe, expect, it } from 'vitest';
import { loadSettings, SettingsError, type ChatServer } from '#shared/settings/environment.js';

const HOME = '/home/someone';
const only = (env: Record<string, string>): ChatServer | undefined =>
  loadSettings({ HOME, ...env }).settings.chatServers[0];
const listed = (chatServers: unknown, env: Record<string, string> = {}) =>
  loadSettings({ HOME, ...env }, { chatServers });

function refused(chatServers: unknown, env: Record<string, string> = {}): string[] {
  try {
    listed(chatServers, env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems.map(({ field, message }) => `${field} ${message}`);
    throw error;
  }
  throw new Error('the settings were accepted');
}

describe('the only chat server', () => {
  it('is described by the environment', () => {
    const { settings, sources } = loadSettings({
      HOME,
      WEBHOOK_SECRETS: 'whsec_one, whsec_two,whsec_one,',
      SESSION_API_URL: 'http://127.0.0.1:3000/api/',
      SESSION_API_TOKEN: 'token',
      PROJECTS_DIR: '~/projects',
      TRANSCRIPT_ROOTS: '/a:b/projects, /theirs/=/ours/, ~/x',
      CLAUDE_HOME: '/srv/claude',
    });
    expect(settings.chatServers).toEqual([
      {
        id: 'default',
        webhookSecrets: ['whsec_one', 'whsec_two'],
        sessionApi: { driver: 'http', url: 'http://127.0.0.1:3000/api', token: 'token' },
        projectsDir: `${HOME}/projects`,
        transcriptRoots: [
          { theirs: '/a:b/projects', ours: '/a:b/projects' },
          { theirs: '/theirs', ours: '/ours' },
          { theirs: `${HOME}/x`, ours: `${HOME}/x` },
        ],
        claudeHome: '/srv/claude',
      },
    ]);
    expect(sources['chatServers']).toBe('environment');
  });

  it('has the projects of its Claude home as root where none is given', () => {
    expect(only({ CLAUDE_HOME: '/srv/claude' })?.transcriptRoots).toEqual([
      { theirs: '/srv/claude/projects', ours: '/srv/claude/projects' },
    ]);
    expect(only({ TRANSCRIPT_ROOTS: ' , ' })?.transcriptRoots[0]?.ours).toBe(`${HOME}/.claude/projects`);
  });

  it('is reached by http where there is an address, unless it says none', () => {
    expect(only({})?.sessionApi.driver).toBe('none');
    expect(only({ SESSION_API_URL: 'http://x' })?.sessionApi.driver).toBe('http');
    expect(only({ SESSION_API_URL: 'http://x', SESSION_API_DRIVER: 'none' })?.sessionApi.driver).toBe('none');
    expect(() => only({ SESSION_API_DRIVER: 'http' })).toThrow(/SESSION_API_URL is needed by the driver http/);
    expect(() => only({ SESSION_API_DRIVER: 'htpp' })).toThrow(
      /SESSION_API_DRIVER must be one of http, exec, paddock, herdctl, none/,
    );
    expect(() => only({ TRANSCRIPT_ROOTS: '/a=' })).toThrow(/TRANSCRIPT_ROOTS must be a list of folders/);
  });

  it('is warned about roots that look like a list between colons', () => {
    expect(loadSettings({ HOME, TRANSCRIPT_ROOTS: '/a:/b' }).warnings).toEqual([
      'TRANSCRIPT_ROOTS /a:/b is one folder: entries stand between commas, pairs with =',
    ]);
  });
});

describe('several chat servers', () => {
  it('come from the file, with secrets by reference', () => {
    const { settings, sources, warnings } = listed(
      [
        {
          id: 'blue',
          webhookSecrets: ['${BLUE}', 'plain'],
          sessionApi: { driver: 'http', url: 'https://blue', token: '${BLUE_TOKEN}' },
          transcriptRoots: ['/one', { theirs: '/t', ours: '/o' }, '/x=/y'],
        },
        { id: 'green-2', webhookSecrets: '${GREEN}', sessionApi: { driver: 'none' }, claudeHome: '/g' },
      ],
      { BLUE: 'b1', BLUE_TOKEN: 'bt', GREEN: 'g1,g2' },
    );
    expect(settings.chatServers).toMatchObject([
      {
        id: 'blue',
        webhookSecrets: ['b1', 'plain'],
        sessionApi: { driver: 'http', url: 'https://blue', token: 'bt' },
        transcriptRoots: [
          { theirs: '/one', ours: '/one' },
          { theirs: '/t', ours: '/o' },
          { theirs: '/x', ours: '/y' },
        ],
      },
      { id: 'green-2', webhookSecrets: ['g1', 'g2'], transcriptRoots: [{ ours: '/g/projects' }] },
    ]);
    expect(sources['chatServers']).toBe('file');
    expect(warnings).toEqual([]);
  });

  it('make the variables of the single server idle, which is said by name', () => {
    const { settings, warnings } = listed([{ id: 'a', webhookSecrets: '${WEBHOOK_SECRETS}' }], {
      WEBHOOK_SECRETS: 'x',
      SESSION_API_URL: 'http://x',
      CLAUDE_HOME: '/x',
    });
    expect(settings.chatServers).toMatchObject([{ id: 'a', webhookSecrets: ['x'], claudeHome: `${HOME}/.claude` }]);
    expect(warnings).toEqual(['CLAUDE_HOME, SESSION_API_URL do not apply: the instance file has chatServers']);
  });

  it('are refused with every fault at its place', () => {
    expect(
      refused([
        { id: 'Blue' },
        { id: 'a', webhookSecrets: ['${GONE}', ''], sessionApi: { driver: 'http' } },
        { id: 'b', sessionApi: { driver: 'carrier-pigeon' } },
        { id: 'c', transcriptRoots: [{ theirs: '/x' }] },
        'd',
        {},
      ]),
    ).toEqual([
      'chatServers[1].webhookSecrets[0] refers to ${GONE}, which is not set',
      expect.stringMatching(/^chatServers\[0\]\.id must be/),
      expect.stringMatching(/^chatServers\[1\]\.webhookSecrets must be/),
      'chatServers[1].sessionApi.url is needed by the driver http',
      expect.stringMatching(/^chatServers\[2\]\.sessionApi\.driver must be one of http, exec, paddock, herdctl, none/),
      expect.stringMatching(/^chatServers\[3\]\.transcriptRoots must be/),
      'chatServers[4] must be a map',
      expect.stringMatching(/^chatServers\[5\]\.id must be/),
    ]);
    expect(refused([])).toEqual(['chatServers must be a list of at least one chat server']);
    expect(refused({ id: 'a' })).toHaveLength(1);
  });

  it('may not share an id', () => {
    expect(refused([{ id: 'a' }, { id: 'b' }, { id: 'a' }])).toEqual(['chatServers names the id a more than once']);
  });

  it.each([
    ['the same text', 'plain-secret-1', 'plain-secret-1'],
    ['without padding', 'whsec_c2VjcmV0LW9uZQ==', 'whsec_c2VjcmV0LW9uZQ'],
    ['in plain and in base64', 'whsec_c2VjcmV0LW9uZQ==', 'secret-one'],
  ])('may not share a secret: %s', (_what, one, two) => {
    const chatServers = [
      { id: 'a', webhookSecrets: ['other', one] },
      { id: 'b', webhookSecrets: [two] },
    ];
    expect(refused(chatServers)).toEqual(['webhookSecrets of chat servers a and b share a secret: each needs its own']);
  });

  it('may have secrets that are nearly alike', () => {
    const chatServers = ['plain-secret-1', 'plain-secret-2', 'whsec_c2VjcmV0LW9uZQ==', 'c2VjcmV0LW9uZQ=='].map(
      (secret, index) => ({ id: `s${index}`, webhookSecrets: secret }),
    );
    expect(listed(chatServers).settings.chatServers).toHaveLength(4);
  });

  it.each(['whsec_', 'whsec_!!!', 'whsec_not base64', ''])('refuse %j, a secret that would be no key', (secret) => {
    expect(refused([{ id: 'a', webhookSecrets: [secret] }])).toEqual([
      expect.stringMatching(/^chatServers\[0\]\.webhookSecrets must be/),
    ]);
  });

  it('are warned about keys that mean nothing', () => {
    expect(listed([{ id: 'a', webhookSecret: 'x', sessionApi: { uri: 'y' } }]).warnings).toEqual([
      'chatServers[0] has unknown keys that are ignored: webhookSecret',
      'chatServers[0].sessionApi has unknown keys that are ignored: uri',
    ]);
  });
});

describe('how sessions are reached', () => {
  const api = (sessionApi: unknown) => listed([{ id: 'a', sessionApi }]).settings.chatServers[0]?.sessionApi;
  const faults = (sessionApi: unknown) => refused([{ id: 'a', sessionApi }]);
  const send = ['claude', '-p', '--resume', '{sessionId}', '{nudge}'];

  it('by a command, in the environment as a JSON list', () => {
    const env = {
      SESSION_API_DRIVER: 'exec',
      SESSION_API_SEND: JSON.stringify(send),
      SESSION_API_PASS_ENV: 'A_KEY, B',
    };
    expect(only(env)?.sessionApi).toMatchObject({ driver: 'exec', send, passEnv: ['A_KEY', 'B'] });
    const faulty = (SESSION_API_SEND: string) => () => only({ SESSION_API_DRIVER: 'exec', SESSION_API_SEND });
    for (const wrong of ['claude -p {nudge}', '[]', '[""]', '{"a":1}', '["a",{}]']) {
      expect(faulty(wrong)).toThrow(/SESSION_API_SEND must be a list of arguments/);
    }
    expect(faulty('["claude","{session}"]')).toThrow(
      /SESSION_API_SEND has placeholders that mean nothing: \{session\}/,
    );
  });

  it('with what each driver cannot do without', () => {
    expect(faults({ driver: 'exec' })).toEqual(['chatServers[0].sessionApi.send is needed by the driver exec']);
    expect(faults({ driver: 'exec', send, into: 'live' })).toEqual([
      'chatServers[0].sessionApi.status is needed by the driver exec with into: live',
    ]);
    expect(faults({ driver: 'paddock' })).toEqual(['chatServers[0].sessionApi.url is needed by the driver paddock']);
    expect(faults({ driver: 'herdctl' })).toEqual(['chatServers[0].sessionApi.url is needed by the driver herdctl']);
    expect(faults({ driver: 'exec', send, passEnv: ['not a name'] })).toEqual([
      expect.stringMatching(/passEnv must be a list of variables’ names/),
    ]);
  });

  it('by project, field by field over the chat server’s own', () => {
    const sessionApi = api({
      url: 'http://x/',
      token: 't',
      projects: { '': { driver: 'none' }, blue: { driver: 'exec', send }, green: { url: 'http://y', token: 'u' } },
    });
    expect(sessionApi).toMatchObject({ driver: 'http', url: 'http://x', token: 't' });
    expect(sessionApi?.projects?.['']).toMatchObject({ driver: 'none' });
    expect(sessionApi?.projects?.['blue']).toMatchObject({ driver: 'exec', send, token: 't' });
    expect(sessionApi?.projects?.['green']).toMatchObject({ driver: 'http', url: 'http://y', token: 'u' });
  });

  it('and says which project’s is wrong', () => {
    expect(faults({ url: 'http://x', projects: { '../up': { driver: 'none' }, b: { driver: 'exec' }, c: 7 } })).toEqual(
      [
        'chatServers[0].sessionApi.projects.../up is no project slug',
        'chatServers[0].sessionApi.projects.b.send is needed by the driver exec',
        expect.stringMatching(/^chatServers\[0\]\.sessionApi\.projects\.c must be a map/),
      ],
    );
    expect(faults({ url: 'http://x', projects: [] })).toEqual([
      'chatServers[0].sessionApi.projects must be a map from project slugs to settings',
    ]);
    expect(listed([{ id: 'a', sessionApi: { projects: { b: { drivr: 'none' } } } }]).warnings).toEqual([
      'chatServers[0].sessionApi.projects.b has unknown keys that are ignored: drivr',
    ]);
  });

  it('and transcripts through it only where it is http', () => {
    const problem = /TRANSCRIPT_SOURCE is http, and no chat server has the driver http/;
    expect(() => only({ TRANSCRIPT_SOURCE: 'http' })).toThrow(problem);
    expect(only({ TRANSCRIPT_SOURCE: 'http', SESSION_API_URL: 'http://x' })).toBeDefined();
  });
});
