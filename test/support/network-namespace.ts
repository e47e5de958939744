import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';

/**
 * A machine of its own, as far as network and one folder go: a network namespace with a wire to this one, where `hidden`
 * is an empty folder. Root alone can have one, with `ip` and `unshare`.
 */
export interface OtherMachine {
  /** This machine as the other one sees it. */
  hostAddress: string;
  /** Starts a program there. */
  spawn(program: string, args: string[], options: { cwd: string; env: Record<string, string> }): ChildProcess;
  /** Runs a program there to its end; `false`: it failed. */
  succeeds(program: string, args: string[]): boolean;
  remove(): void;
}

/** Why there can be none here; `undefined`: there can. */
export function otherMachineImpossible(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux may make network namespaces';
  try {
    const name = `crprobe${randomBytes(3).toString('hex')}`;
    execFileSync('ip', ['netns', 'add', name], { stdio: 'ignore' });
    execFileSync('ip', ['netns', 'del', name], { stdio: 'ignore' });
    return undefined;
  } catch (error) {
    return `ip netns does not work here: ${String(error)}`;
  }
}

const ip = (...args: string[]): void => void execFileSync('ip', args, { stdio: 'ignore' });

export function otherMachine(hidden: string): OtherMachine {
  const id = randomBytes(3).toString('hex');
  const [namespace, here, there] = [`cr${id}`, `cra${id}`, `crb${id}`];
  const net = `10.${randomInt(100, 200)}.${randomInt(0, 255)}`;
  ip('netns', 'add', namespace);
  ip('link', 'add', here, 'type', 'veth', 'peer', 'name', there, 'netns', namespace);
  ip('addr', 'add', `${net}.1/30`, 'dev', here);
  ip('link', 'set', here, 'up');
  ip('-n', namespace, 'addr', 'add', `${net}.2/30`, 'dev', there);
  ip('-n', namespace, 'link', 'set', there, 'up');
  ip('-n', namespace, 'link', 'set', 'lo', 'up');
  // The mount is the namespace's alone, and everything that is run gets it before it is begun.
  const script = 'mount -t tmpfs -o ro none "$1" && shift && exec "$@"';
  const wrapped = (program: string, args: string[]): string[] => [
    'netns',
    'exec',
    namespace,
    'unshare',
    '--mount',
    'sh',
    '-c',
    script,
    'sh',
    hidden,
    program,
    ...args,
  ];
  return {
    hostAddress: `${net}.1`,
    spawn: (program, args, options) => spawn('ip', wrapped(program, args), { ...options, stdio: 'pipe' }),
    succeeds(program, args) {
      try {
        execFileSync('ip', wrapped(program, args), { stdio: 'ignore' });
        return true;
      } catch {
        return false;
      }
    },
    remove() {
      ip('netns', 'del', namespace);
    },
  };
}
