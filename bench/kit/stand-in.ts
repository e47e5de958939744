import { fork } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from '../../test/support/processes.ts';

/** A program that something of ours is compared with, as a process of its own. It answers each message with one. */
export interface StandIn {
  pid: number;
  ask<A>(question: unknown): Promise<A>;
  /** Sends without waiting for an answer; messages that nobody asked for reach `onTold`. */
  tell(message: unknown): void;
  onTold: (message: unknown) => void;
  stop(): Promise<void>;
}

interface Envelope {
  id?: number;
  body: unknown;
}

/** Starts `bench/stand-ins/<name>.ts` and waits until it answers. */
export async function startStandIn(name: string, setup: unknown = {}): Promise<StandIn> {
  const child = fork(join(ROOT, 'bench/stand-ins', `${name}.ts`), [], {
    cwd: ROOT,
    execArgv: ['--import', 'tsx', '--conditions=source'],
    serialization: 'advanced',
  });
  const onExit = (): void => void child.kill('SIGKILL');
  process.once('exit', onExit);
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const asked = new Map<number, (body: unknown) => void>();
  let last = 0;
  child.on('message', ({ id, body }: Envelope) => {
    if (id === undefined) return standIn.onTold(body);
    asked.get(id)?.(body);
    asked.delete(id);
    return undefined;
  });
  const standIn: StandIn = {
    pid: child.pid ?? 0,
    onTold: () => undefined,
    async ask<A>(question: unknown): Promise<A> {
      const id = (last += 1);
      const answered = new Promise<unknown>((resolve) => asked.set(id, resolve));
      child.send({ id, body: question });
      const gone = ended.then(() => Promise.reject(new Error(`The stand-in ${name} ended.`)));
      return (await Promise.race([answered, gone])) as A;
    },
    tell: (body) => void child.send({ body }),
    async stop() {
      child.kill('SIGKILL');
      await ended;
      process.off('exit', onExit);
    },
  };
  await standIn.ask(setup);
  return standIn;
}

/** A stand-in's own side: answers what is asked, the set-up first. */
export function answer(handle: (body: never) => unknown): void {
  const respond = async ({ id, body }: Envelope): Promise<void> => {
    const reply = await handle(body as never);
    if (id !== undefined) process.send?.({ id, body: reply ?? null });
  };
  process.on('message', (envelope: Envelope) => void respond(envelope));
}

/** Sends what nobody asked for. */
export function tell(body: unknown): void {
  process.send?.({ body });
}
