import { written } from './schema.js';

/**
 * @typedef {import('./schema.js').Schema} Schema
 * @typedef {{ description?: string, content?: Record<string, { schema?: Schema }> }} Message
 * @typedef {{
 *   summary?: string, description?: string, security?: Record<string, string[]>[], requestBody?: Message & { required?: boolean },
 *   parameters?: { name: string, in: string, required?: boolean, description?: string, schema?: Schema }[],
 *   responses: Record<string, Message>,
 * }} Operation
 * @typedef {{
 *   info: { title: string, description?: string }, paths: Record<string, Record<string, Operation>>,
 *   components?: { schemas?: Record<string, Schema>, securitySchemes?: Record<string, { description?: string }> },
 * }} OpenApi
 */

/** Who may: the names of the document's security schemes, in words. */
const WHO = /** @type {Record<string, string>} */ ({
  admin: 'the operator’s token',
  login: 'a login',
  chatServer: 'a chat server’s token',
  chat: 'a token for that chat',
  webhook: 'a webhook’s signature',
});

/** Children that are text become text, never markup. */
/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string>} attributes
 * @param {...(Node | string)} children
 */
function el(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** @param {string} path */
function groupOf(path) {
  if (path.startsWith('/v1/sessions')) return 'Chats';
  if (path === '/v1/events' || path.startsWith('/v1/hooks')) return 'Deliveries';
  if (/^\/v1\/(events\/stream|stats|reasons)/.test(path)) return 'What happens, live';
  if (path.startsWith('/v1/')) return 'Operating';
  return 'Health, contract, login';
}

/** @param {string} title @param {...Node} children */
const section = (title, ...children) => [el('h3', {}, title), ...children];

/**
 * @param {string} name
 * @param {Message} message
 * @param {Record<string, Schema>} named
 */
function messageOf(name, { description = '', content = {} }, named) {
  const schemas = Object.entries(content).map(([type, { schema }]) => {
    const isProblem = type === 'application/problem+json';
    return isProblem ? '' : el('pre', {}, `${type}\n${written(schema, named)}`);
  });
  return [el('dt', {}, name), el('dd', {}, description, ...schemas)];
}

/**
 * @param {string} method
 * @param {string} path
 * @param {Operation} operation
 * @param {Record<string, Schema>} named
 */
function operationOf(method, path, operation, named) {
  const { summary = '', description, security = [], parameters = [], requestBody, responses } = operation;
  const who = security.flatMap((each) => Object.keys(each)).map((name) => WHO[name] ?? name);
  const inside = el('div', { class: 'inside' });
  if (description !== undefined) inside.append(el('p', {}, description));
  inside.append(el('p', {}, who.length === 0 ? 'Open to everybody.' : `Needs ${who.join(', or ')}.`));
  if (parameters.length > 0) {
    const rows = parameters.flatMap(({ name, in: place, required, description: words = '', schema }) => [
      el('dt', {}, `${name}${required === true ? '' : '?'}: ${written(schema, named)}`),
      el('dd', {}, `in ${place}${words === '' ? '' : `. ${words}`}`),
    ]);
    inside.append(...section('Parameters', el('dl', {}, ...rows)));
  }
  if (requestBody !== undefined) inside.append(...section('Body', el('dl', {}, ...messageOf('', requestBody, named))));
  const answers = Object.entries(responses).flatMap(([status, message]) => messageOf(status, message, named));
  inside.append(...section('Answers', el('dl', {}, ...answers)));
  const id = `${method}-${path}`.replaceAll(/[^a-z0-9]+/gi, '-');
  const head = el(
    'summary',
    {},
    el('span', { class: 'method' }, method.toUpperCase()),
    el('code', {}, path),
    ` ${summary}`,
  );
  return el('details', { id }, head, inside);
}

/** @param {OpenApi} document_ */
function show(document_) {
  const { info, paths, components = {} } = document_;
  byId('title').textContent = info.title;
  byId('about').textContent = info.description ?? '';
  /** @type {Map<string, HTMLElement[]>} */
  const groups = new Map();
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const group = groups.get(groupOf(path)) ?? [];
      group.push(operationOf(method, path, operation, components.schemas ?? {}));
      groups.set(groupOf(path), group);
    }
  }
  const sections = [...groups].map(([title, operations]) => el('section', {}, el('h2', {}, title), ...operations));
  byId('main').replaceChildren(...sections);
  byId('main').setAttribute('aria-busy', 'false');
  // A link to one operation opens it.
  const named =
    window.location.hash === '' ? null : document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
  if (named instanceof HTMLDetailsElement) {
    named.open = true;
    named.scrollIntoView();
  }
}

/** @param {string} id */
function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`#${id} is missing`);
  return found;
}

/** @param {string} wanted */
function filter(wanted) {
  const word = wanted.trim().toLowerCase();
  for (const group of byId('main').querySelectorAll('section')) {
    const all = [...group.querySelectorAll('details')];
    for (const each of all) each.hidden = word !== '' && !(each.textContent ?? '').toLowerCase().includes(word);
    group.hidden = all.every((each) => each.hidden);
  }
}

byId('filter').addEventListener('input', ({ target }) => {
  if (target instanceof HTMLInputElement) filter(target.value);
});

try {
  const answer = await fetch(new URL('openapi.json', document.baseURI));
  if (!answer.ok) throw new Error(`The watcher answered ${answer.status}.`);
  show(await answer.json());
} catch (error) {
  const problem = byId('problem');
  problem.hidden = false;
  problem.textContent = `The contract cannot be shown. ${error instanceof Error ? error.message : String(error)}`;
}
