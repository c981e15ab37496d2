// Simulators in this process, and commands that ask them; each simulator ends with the test.
import type { RetrySchedule } from 'payment-webhooks/simulator';
import { until } from '../../setup/waiting.js';
import { afterwards, simulator } from '../simulator/world.js';
import { type Run, runCli, startCli } from './run-cli.js';

export interface Ask {
  (...args: string[]): Promise<Run>;
  /** With something piped in. */
  with(stdin: string, ...args: string[]): Promise<Run>;
}

/** @param app where everything is delivered */
export async function against({
  app,
  retry = 'fast',
}: {
  readonly app?: { readonly url: string };
  readonly retry?: RetrySchedule;
} = {}): Promise<Ask> {
  const service = await simulator({ clock: 'real', retry });
  if (app) await service.webhooks.create({ url: app.url });
  const run = (args: string[], stdin: string) =>
    runCli(args, { env: { SERVICE_SIM_URL: service.baseUrl }, stdin });
  return Object.assign((...args: string[]) => run(args, ''), {
    with: (stdin: string, ...args: string[]) => run(args, stdin),
  });
}

export interface Simulating {
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly baseUrl: string;
  /** Ends every simulator of this process, as Ctrl-C does. */
  stop(): Promise<Run>;
  /** Another command, asking this simulator. */
  ask(...argv: string[]): Promise<Run>;
}

/** All of the banner but the keys to press. What is asked for on the command line is done by then. */
export const BANNER = /^\{.*\}\n|(?:More keys and tokens|sim_token_none).*\r?\n\r?\n/;

/** `simulate` on a free port, until the test is over. */
export async function simulate(
  argv: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Simulating> {
  const { printed, ended } = startCli(['simulate', '--port', '0', ...argv], { env });
  const stop = () => {
    process.emit('SIGTERM');
    return ended;
  };
  afterwards(stop);
  await Promise.race([ended, until(() => BANNER.test(printed.stdout))]);
  const [baseUrl = `nowhere: ${printed.stderr}`] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed.stdout) ?? [];
  return {
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    baseUrl,
    stop,
    ask: (...words) => runCli(words, { env: { SERVICE_SIM_URL: baseUrl } }),
  };
}
