import { describe, expect, it } from 'vitest';
import { SESSION_STATES } from '#shared/session/record.js';
import { recoveryShape } from '#shared/settings/recovery.js';
import { KEYS, valueWords } from '../../../services/watcher/public/page/settings-table.js';
import { eventParser } from '../../../services/watcher/public/page/sse.js';
import { STATES } from '../../../services/watcher/public/page/states.js';
import { Store } from '../../../services/watcher/public/page/store.js';
import { why } from '../../../services/watcher/public/page/why.js';
import { age, span } from '../../../services/watcher/public/page/words.js';

const session = (fields: object) => ({
  sessionId: 'a',
  project: 'web',
  server: 'default',
  state: 'watching',
  updatedMs: 1,
  notice: null,
  ...fields,
});
const put = (store: Store, ...sessions: object[]) => store.put(sessions as never);
const ids = (store: Store) => store.shown().map(({ sessionId }) => sessionId);

describe('the store', () => {
  it('lists what needs attention first, then the newest change', () => {
    const store = new Store();
    put(store, session({ sessionId: 'old' }), session({ sessionId: 'new', updatedMs: 5 }));
    put(
      store,
      session({ sessionId: 'hung', state: 'killed' }),
      session({ sessionId: 'done', state: 'closed', updatedMs: 9 }),
    );
    expect(ids(store)).toEqual(['hung', 'new', 'old', 'done']);
    expect(store.groupCounts()).toEqual({ attention: 1, watching: 2, rest: 1 });
  });

  it('never lets an older answer replace a newer one', () => {
    const store = new Store();
    put(store, session({ state: 'killed', updatedMs: 7 }));
    put(store, session({ state: 'watching', updatedMs: 6 }));
    expect(store.get('a')?.state).toBe('killed');
  });

  it('filters by text, group, state, server and project, the root workspace too', () => {
    const store = new Store();
    const notice = { id: 'n', tasks: [{ id: 'b1', summary: 'Run the Tests' }] };
    put(
      store,
      session({ sessionId: 'x', project: '', notice, state: 'killed' }),
      session({ sessionId: 'y', server: 'two' }),
    );
    const shown = (filter: object): string[] => {
      store.filter = { text: '', group: '', state: '', project: undefined, server: '', ...filter };
      return ids(store);
    };
    expect(shown({ text: ' tests ' })).toEqual(['x']);
    expect(shown({ text: 'root' })).toEqual(['x']);
    expect(shown({ project: '' })).toEqual(['x']);
    expect(shown({ server: 'two' })).toEqual(['y']);
    expect(shown({ group: 'attention' })).toEqual(['x']);
    expect(shown({ state: 'watching' })).toEqual(['y']);
  });

  it('forgets what is gone after everything was read anew', () => {
    const store = new Store();
    put(store, session({ sessionId: 'x' }), session({ sessionId: 'y' }));
    store.keepOnly(new Set(['y']));
    expect(ids(store)).toEqual(['y']);
  });
});

const sorted = (words: readonly string[]): string[] => [...words].toSorted();

describe('words', () => {
  it('every state has its own', () => expect(sorted(Object.keys(STATES))).toEqual(sorted(SESSION_STATES)));
  it('every setting has its own', () => expect(sorted(KEYS)).toEqual(sorted(Object.keys(recoveryShape))));
  it.each([
    [0, 'now'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [7_200_000, '2 h'],
    [200_000_000, '2 d'],
  ])('%i ms are %s', (ms, words) => expect(age(ms)).toBe(words));
  it.each([
    [300, '300 ms'],
    [1_500, '1.5 s'],
    [90_000, '1 min 30 s'],
    [21_600_000, '6 h'],
  ])('a span of %i ms is %s', (ms, words) => expect(span(ms)).toBe(words));
  it('a zero that means something says what', () => {
    expect(valueWords('limboTimeoutMs', 0)).toBe('never');
    expect(valueWords('maxRetries', 0)).toBe('none');
    expect(valueWords('autoReDrive', false)).toBe('off');
  });
});

describe('event streams', () => {
  it('come in pieces cut anywhere', () => {
    const text =
      'retry: 1000\nid: 1-0\nevent: open\ndata: {"a":1}\n\n: still here\n\nid: 2-0\nevent: x\ndata: {"b":"ü"}\n\n';
    for (let cut = 0; cut <= text.length; cut += 1) {
      const parse = eventParser();
      expect([...parse(text.slice(0, cut)), ...parse(text.slice(cut))]).toEqual([
        { id: '1-0', event: 'open', data: '{"a":1}' },
        { id: '2-0', event: 'x', data: '{"b":"ü"}' },
      ]);
    }
  });
});

describe('why a chat was not nudged', () => {
  const words = {
    decisions: { 'user-stop': 'A person stopped it.' },
    deliveries: {},
    verdicts: {},
    trail: {},
    settings: {},
  };
  const going = { paused: false, by: null, sinceMs: null };
  const hung = {
    notice: {},
    automatic: true,
    userStopped: false,
    automaticReason: null,
    trail: [{ kind: 'killed-task' }],
  };
  const said = (change: object, pause = going): string => why({ ...hung, ...change } as never, pause, words);

  it('is what the trail says last of this hang', () => {
    const earlier = { kind: 'nudged', text: 'The chat took the nudge.', reasonText: null };
    const deferred = { kind: 'deferred', text: 'Not nudged yet: put off.', reasonText: 'A turn runs.' };
    expect(said({ trail: [{ kind: 'killed-task' }, earlier, { kind: 'killed-task' }, deferred] })).toBe(
      'Not nudged yet: put off. A turn runs.',
    );
    expect(said({ trail: [{ kind: 'killed-task' }, earlier, { kind: 'killed-task' }] })).toMatch(/debounce/);
  });

  it('or what holds it, where the trail says nothing yet', () => {
    expect(said({}, { ...going, paused: true })).toMatch(/paused/);
    expect(said({ automatic: false, userStopped: true })).toBe('Not nudged: A person stopped it.');
    expect(said({ notice: null })).toBe('');
  });
});
