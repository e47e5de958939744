import { expect, test } from 'vitest';
import { PermissionDesk } from '../../../examples/chat-server/claude-permissions.ts';

const signal = (): AbortSignal => new AbortController().signal;

test('a yes allows with the input as it was asked, anything else denies with what was said', async () => {
  const desk = new PermissionDesk(() => undefined);
  const first = desk.ask({ command: 'ls' }, signal());
  desk.answer('Yes, go on');
  expect(await first).toEqual({ behavior: 'allow', updatedInput: { command: 'ls' } });
  const second = desk.ask({ command: 'rm' }, signal());
  desk.answer('Better not.');
  expect(await second).toEqual({ behavior: 'deny', message: 'Better not.' });
});

test('it tells once that it asks and once that it does not, however many questions are open', async () => {
  const told: boolean[] = [];
  const desk = new PermissionDesk((asking) => told.push(asking));
  const answers = [desk.ask({}, signal()), desk.ask({}, signal())];
  desk.answer('ok');
  await Promise.all(answers);
  expect(told).toEqual([true, false]);
});

test('an interrupted question is settled as denied, and a later answer finds none', async () => {
  const controller = new AbortController();
  const desk = new PermissionDesk(() => undefined);
  const answer = desk.ask({}, controller.signal);
  controller.abort();
  desk.answer('yes');
  expect(await answer).toMatchObject({ behavior: 'deny' });
});
