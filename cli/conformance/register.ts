import { InvalidArgumentError, type Command } from 'commander';
import { print } from '../inspect/print.ts';

interface Options {
  url: string;
  token?: string;
  setup?: string;
  session?: string;
  webhookListen?: number;
  webhookSecret?: string;
  wait: number;
  only?: string[];
  json?: true;
}

/** `chat-recovery conformance --url URL`: does a chat server keep the session API's contract? */
export function registerConformance(program: Command): void {
  program
    .command('conformance')
    .description('run the session API’s contract against a chat server, and say what it keeps and what it breaks')
    .requiredOption('--url <url>', 'base address of the session API')
    .option('--token <token>', 'its bearer token')
    .option('--setup <url>', 'URL of your server that gets sessions into states (docs/hosts/your-own.md)')
    .option('--session <id>', 'instead: one session that may be spoken to; what needs other states is not checked')
    .option('--webhook-listen <port>', 'take your server’s webhooks on this port and check them too', port)
    .option('--webhook-secret <secret>', 'the secret that they are signed with')
    .option('--wait <ms>', 'how long a turn, its end or a webhook is waited for', milliseconds, 10_000)
    .option('--only <id...>', 'only the checks whose names begin so')
    .option('--json', 'print one JSON object')
    .action(async (options: Options) => {
      process.exitCode = await run(options);
    });
}

async function run(options: Options): Promise<number> {
  const { url, token, setup, session, wait, only, json } = options;
  if ((setup === undefined) === (session === undefined)) {
    console.error('Give either --setup URL or --session ID: something must say which sessions may be spoken to.');
    return 2;
  }
  const [{ checkConformance }, { listenForWebhooks }, { printReport }] = await Promise.all([
    import('./conformance.ts'),
    import('./webhook-ear.ts'),
    import('./print.ts'),
  ]);
  const webhooks =
    options.webhookListen === undefined
      ? undefined
      : await listenForWebhooks({ port: options.webhookListen, secret: options.webhookSecret });
  try {
    const how = setup === undefined ? { session: session ?? '' } : { url: setup };
    const results = await checkConformance({ url, token, setup: how, webhooks, only, waitMs: wait });
    const isKept = results.every(({ verdict }) => verdict !== 'broken');
    if (json === true) print(JSON.stringify({ kept: isKept, checks: results }));
    else printReport(results);
    return isKept ? 0 : 1;
  } finally {
    await webhooks?.close();
  }
}

function port(value: string): number {
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value);
  throw new InvalidArgumentError('It must be a port.');
}

function milliseconds(value: string): number {
  if (/^\d{1,7}$/.test(value) && Number(value) > 0) return Number(value);
  throw new InvalidArgumentError('It must be a number of milliseconds.');
}
