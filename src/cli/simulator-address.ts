// Where the commands look for the simulator.
import type { Terminal } from './command.js';

const DEFAULT = 'http://127.0.0.1:4747';

export const simulatorUrlOption = {
  type: 'string',
  value: 'URL',
  about: `Address of the simulator. Left out, SERVICE_SIM_URL or ${DEFAULT}.`,
} as const;

export function simulatorUrl(given: string | undefined, { env }: Terminal): string {
  return given ?? (env.SERVICE_SIM_URL || DEFAULT);
}

export function nobodyAt(address: string): string {
  return `No simulator listens at ${new URL(address).origin}. Start one with \`payment-webhooks simulate\``;
}
