// Runs commands against a simulator that both live in this process; the simulator ends with the test.
import type { RetrySchedule } from 'payment-webhooks/simulator';
import { simulator } from '../simulator/world.js';
import { type Run, runCli } from './run-cli.js';

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
