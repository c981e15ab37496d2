// Simulators in this process, and commands that ask them; each simulator ends with the test.
import type { RetrySchedule } from 'payment-webhooks/simulator';
import { until } from '../../setup/waiting.js';
import { type Answer, afterwards, endpoint, simulator } from '../simulator/world.js';
import { runCli, startCli } from './run-cli.js';

/** Commands that ask a new simulator, and the endpoint with these answers that it delivers to: none without answers. */
export async function against(retry: RetrySchedule = 'fast', ...answers: Answer[]) {
  const service = await simulator({ clock: 'real', retry });
  const app = await endpoint(...answers);
  const { id = '' } = answers.length > 0 ? await service.webhooks.create({ url: app.url }) : {};
  const env = { SERVICE_SIM_URL: service.baseUrl };
  const askWith = (stdin: string, ...args: string[]) => runCli(args, { env, stdin });
  return { service, webhook: id, app, askWith, ask: (...args: string[]) => askWith('', ...args) };
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
