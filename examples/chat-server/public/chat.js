/** The example's chat page: lists chats, shows one, writes to it. All text is text, never markup. */

const NAMES = { human: 'You', claude: 'Claude', recovery: 'Paddock recovery', runtime: 'Runtime' };
/** @typedef {{ sessionId: string, project: string, script?: string, state: string, closed?: string }} ChatSummary */
/** @typedef {{ from: keyof typeof NAMES, text: string, at?: string }} Message */

/** @template {Element} T @param {string} id @param {new () => T} type @returns {T} */
function part(id, type) {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new TypeError(`The page has no ${id}.`);
  return found;
}

/** @template T @param {string} path @param {string} [method] @param {object} [body] @returns {Promise<T>} */
async function call(path, method = 'GET', body) {
  const sent =
    body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(path, { method, cache: 'no-store', ...sent });
  if (!response.ok) throw new Error((await response.json()).detail);
  return response.json();
}

let chosen = '';
/** @type {EventSource | undefined} */
let events;

async function drawList() {
  /** @type {{ chats: ChatSummary[] }} */
  const { chats } = await call('chats');
  const items = chats.toReversed().map((chat) => {
    const button = document.createElement('button');
    const small = document.createElement('small');
    small.textContent = ` ${chat.sessionId.slice(0, 8)}, ${chat.closed ?? chat.state}`;
    button.append(`${chat.project === '' ? 'Root workspace' : chat.project}: ${chat.script ?? 'chat'}`, small);
    if (chat.sessionId === chosen) button.setAttribute('aria-current', 'true');
    button.addEventListener('click', () => choose(chat.sessionId));
    const item = document.createElement('li');
    item.append(button);
    return item;
  });
  part('chats', HTMLElement).replaceChildren(...items);
}

async function drawChat() {
  const id = chosen;
  /** @type {[ChatSummary, { messages: Message[] }]} */
  const [chat, { messages }] = await Promise.all([call(`chats/${id}`), call(`chats/${id}/messages`)]);
  if (id !== chosen) return;
  part('title', HTMLElement).textContent =
    `${chat.project === '' ? 'Root workspace' : chat.project} · ${id.slice(0, 8)}`;
  part('state', HTMLElement).textContent = chat.closed ?? chat.state;
  const list = part('messages', HTMLElement);
  const atEnd = list.scrollTop + list.clientHeight > list.scrollHeight - 40;
  list.replaceChildren(...messages.map(messageItem));
  if (atEnd) list.scrollTop = list.scrollHeight;
}

/** @param {Message} message */
function messageItem({ from, text }) {
  const item = document.createElement('li');
  const name = document.createElement('b');
  item.dataset['from'] = from;
  name.textContent = NAMES[from];
  item.append(name, text);
  return item;
}

/** @param {string} id */
function choose(id) {
  chosen = id;
  location.hash = id;
  part('chat', HTMLElement).hidden = false;
  part('none', HTMLElement).hidden = true;
  // The one line that a chat page needs: which chat its notice is about.
  part('notice', HTMLElement).setAttribute('session', id);
  events?.close();
  events = new EventSource(`chats/${id}/events`);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let soon;
  const redraw = () => {
    soon ??= setTimeout(() => {
      soon = undefined;
      void drawChat();
      void drawList();
    }, 50);
  };
  for (const kind of [
    'turn.started',
    'turn.ended',
    'reply',
    'message.human',
    'task.killed',
    'task.completed',
    'session.closed',
    'nudge.accepted',
  ]) {
    events.addEventListener(kind, redraw);
  }
  void drawChat();
  void drawList();
}

/** @param {string} id @param {(fields: FormData) => Promise<unknown>} submit */
function onSubmit(id, submit) {
  const form = part(id, HTMLFormElement);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submit(new FormData(form)).catch((/** @type {unknown} */ error) => {
      part('state', HTMLElement).textContent = error instanceof Error ? error.message : String(error);
    });
  });
  return form;
}

onSubmit('new', async (fields) => {
  /** @type {ChatSummary} */
  const chat = await call('chats', 'POST', { script: fields.get('script') });
  choose(chat.sessionId);
});
const write = onSubmit('write', async (fields) => {
  const text = fields.get('text');
  if (typeof text !== 'string' || text.trim() === '') return;
  await call(`chats/${chosen}/messages`, 'POST', { text });
  write.reset();
});

/** @type {{ scripts: string[] }} */
const { scripts } = await call('scripts');
for (const script of scripts) {
  const option = document.createElement('option');
  option.value = option.textContent = script;
  part('new', HTMLFormElement).querySelector('select')?.append(option);
}
await drawList();
if (location.hash.length > 1) choose(location.hash.slice(1));
