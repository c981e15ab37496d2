// Starts the receivers of endpoint-process.ts, and asks them what they have seen.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ReceiverOptions } from 'payment-webhooks';
import type { Report } from './endpoint-process.js';

export interface OwnProcess {
  /** Of Express 4, Express 5 and node:http. */
  readonly ports: readonly number[];
  /** @param when whether garbage, and the runs, are thrown away first, which takes its time */
  report(when?: 'now' | 'after gc'): Promise<Report>;
  stop(): void;
}

export async function startOwnProcess(
  options: ReceiverOptions,
  flags: readonly string[] = [],
): Promise<OwnProcess> {
  const script = join(__dirname, 'endpoint-process.ts');
  const child = fork(script, [JSON.stringify(options)], {
    execArgv: [...flags, '--expose-gc', '--import', 'tsx'],
  });
  const [ports] = await once(child, 'message');
  return {
    ports,
    report: async (when = 'now') => {
      const answer = once(child, 'message');
      child.send(when);
      const [report] = await answer;
      return report;
    },
    stop: () => void child.disconnect(),
  };
}
