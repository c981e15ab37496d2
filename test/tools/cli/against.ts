// Simulators in this process, and commands that ask them; each simulator ends with the test.
import type { RetrySchedule } from 'payment-webhooks/simulator';
import { until } from '../../setup/waiting.js';
import { afterwards, simulator } from '../simulator/world.js';
import { runCli, startCli } from './run-cli.js';

/** Runs commands that ask a new simulator. @param app where everything is delivered */
export async function against({
  app,
  retry = 'fast',
}: {
  app?: { url: string };
  retry?: RetrySchedule;
} = {}) {
  const service = await simulator({ clock: 'real', retry });
  if (app) await service.webhooks.create({ url: app.url });
  const env = { SERVICE_SIM_URL: service.baseUrl };
  return Object.assign((...args: string[]) => runCli(args, { env }), {
    /** With something piped in. */
    with: (stdin: string, ...args: string[]) => runCli(args, { env, stdin }),
  });
}

/** All of the banner but the keys to press. What is asked for on the command line is done by then. */
export const BANNER = /^\{.*\}\n|(?:More keys and tokens|sim_token_none).*\r?\n\r?\n/;

/** `simulate` on a free port, until the test is over. */
export async function simulate(argv: readonly string[] = [], env: Record<string, string> = {}) {
  const { printed, ended } = startCli(['simulate', '--port', '0', ...argv], { env });
  // Ends every simulator of this process, as Ctrl-C does.
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
    /** Another command, asking this simulator. */
    ask: (...words: string[]) => runCli(words, { env: { SERVICE_SIM_URL: baseUrl } }),
  };
}
